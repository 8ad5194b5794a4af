package stockapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"orderstock/pkg/batch"
	"orderstock/pkg/httpapi"
	"orderstock/pkg/problem"
	"orderstock/pkg/request"
)

// Client calls the stock service. Each call carries the service token, the request
// id and the remaining time of the context. Calls go round-robin over the base URLs
// unless WithSharedRequests makes them stick to one. The client sends a call once:
// only if the connection is refused, so that nothing can have happened, it goes on
// to the next base URL. Retries are up to its caller.
//
// Safe for concurrent use. Make one with NewClient.
type Client struct {
	bases []string
	token string
	http  *http.Client
	turn  atomic.Uint64
	// shared gathers deductions that share requests; nil if each has its own.
	shared *batch.Group[Deduction, Operation]
	home   atomic.Uint64 // the base URL that calls stick to
	spread bool          // calls do not stick
}

// maxAnswer bounds the body of an answer, in bytes.
const maxAnswer = 16 << 20

// NewClient returns a client of the stock services at the base URLs, such as
// http://stock-service:8081. If a name has several addresses, new connections take
// them in turn. Callers must Close the client.
func NewClient(bases []string, token string, opts ...Option) (*Client, error) {
	if len(bases) == 0 {
		return nil, errors.New("stock client: no base URL")
	}
	c := &Client{token: token, http: &http.Client{Transport: newTransport()}}
	for _, base := range bases {
		u, err := url.Parse(base)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return nil, fmt.Errorf("stock client: base URL %q: want http://host:port", base)
		}
		c.bases = append(c.bases, strings.TrimRight(base, "/"))
	}
	for _, opt := range opts {
		opt(c)
	}
	return c, nil
}

// Option changes a client.
type Option func(*Client)

// WithTransport sends the calls through rt. Default: a transport of the
// client's own that keeps up to 1024 idle connections to each host.
func WithTransport(rt http.RoundTripper) Option {
	return func(c *Client) { c.http.Transport = rt }
}

// WithMiddleware puts wrap around the transport, for example to trace the calls.
func WithMiddleware(wrap func(http.RoundTripper) http.RoundTripper) Option {
	return func(c *Client) { c.http.Transport = wrap(c.http.Transport) }
}

// Close waits for the shared requests in progress and drops the idle connections.
func (c *Client) Close() {
	if c.shared != nil {
		c.shared.Close()
	}
	c.http.CloseIdleConnections()
}

// Deduct takes the items from the stock under the flag, all or none, and returns
// the outcome: Done, Rejected, or, if the flag was cancelled, Cancelled or Restored.
// It may be repeated: a flag has one outcome. Errors: ErrFlagConflict,
// ErrUnknownGoods, ErrInvalid, ErrUnavailable, ErrOverloaded, ErrUnknownOutcome,
// ErrUnauthorized, ErrInternal.
func (c *Client) Deduct(ctx context.Context, flag string, items []Item) (Operation, error) {
	if c.shared != nil {
		return c.deductShared(ctx, flag, items)
	}
	var op Operation
	err := c.call(ctx, http.MethodPut, "/v1/operations/"+url.PathEscape(flag), DeductRequest{Items: items}, &op)
	return op, err
}

// Cancel ends the flag. If nothing is recorded under it, nothing will ever be
// deducted (Cancelled); a deduction is given back (Restored); a rejection stays. It
// may be repeated. Errors as for Deduct.
func (c *Client) Cancel(ctx context.Context, flag string) (Operation, error) {
	var op Operation
	err := c.call(ctx, http.MethodPost, "/v1/operations/"+url.PathEscape(flag)+"/cancel", nil, &op)
	return op, err
}

// Flows returns the operations and the flow rows under the flags, at most 500.
func (c *Client) Flows(ctx context.Context, flags ...string) (FlowsResponse, error) {
	var flows FlowsResponse
	err := c.call(ctx, http.MethodGet, "/v1/flows?"+url.Values{"flag": flags}.Encode(), nil, &flows)
	return flows, err
}

// Stock returns the products with these ids, at most 500, by rising id. Unknown
// ones are missing.
func (c *Client) Stock(ctx context.Context, goodsIDs ...string) ([]Goods, error) {
	var page StockResponse
	err := c.call(ctx, http.MethodGet, "/v1/stock?"+url.Values{"goods_id": goodsIDs}.Encode(), nil, &page)
	return page.Goods, err
}

// Restock adds req.Num pieces to the product, once under req.Flag, and returns the
// product after it. It creates the product if it is new. Errors as for Deduct.
func (c *Client) Restock(ctx context.Context, goodsID string, req RestockRequest) (Goods, error) {
	var goods Goods
	err := c.call(ctx, http.MethodPost, "/v1/stock/"+url.PathEscape(goodsID)+"/restock", req, &goods)
	return goods, err
}

// first returns the index of the base URL to try first.
func (c *Client) first() uint64 {
	if c.spread || c.shared == nil {
		return c.turn.Add(1)
	}
	return c.home.Load()
}

// leave makes calls stick to the next base URL if err shows that home did not serve.
func (c *Client) leave(home uint64, err error) {
	if errors.Is(err, context.Canceled) { // by the caller
		return
	}
	for _, failure := range []error{ErrUnavailable, ErrOverloaded, ErrUnknownOutcome, ErrInternal} {
		if errors.Is(err, failure) {
			c.home.CompareAndSwap(home, home+1)
			return
		}
	}
}

// call sends one request and reads its answer.
func (c *Client) call(ctx context.Context, method, path string, body, answer any) (err error) {
	first := c.first()
	defer func() { c.leave(first, err) }()
	resp, err := c.open(ctx, first, method, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("%w: read answer: %w", ErrUnknownOutcome, err)
	}
	if err := json.Unmarshal(raw, answer); err != nil {
		return fmt.Errorf("%w: decode answer: %w", ErrUnknownOutcome, err)
	}
	return nil
}

// open sends one request to the next base URL, from first on, that accepts a connection. It returns
// an error for any status but 2xx; otherwise the caller reads the body and closes it.
func (c *Client) open(ctx context.Context, first uint64, method, path string, body any) (*http.Response, error) {
	var payload []byte
	if body != nil {
		var err error
		if payload, err = json.Marshal(body); err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
	}
	var err error
	for i := range c.bases {
		base := c.bases[(first+uint64(i))%uint64(len(c.bases))]
		var resp *http.Response
		if resp, err = c.send(ctx, method, base+path, payload); !errors.Is(err, syscall.ECONNREFUSED) {
			return resp, err
		}
	}
	return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
}

func (c *Client) send(ctx context.Context, method, target string, payload []byte) (*http.Response, error) {
	var body io.Reader
	if payload != nil {
		body = bytes.NewReader(payload)
	}
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	if payload != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	if id := request.ID(ctx); id != "" {
		req.Header.Set(httpapi.HeaderRequestID, id)
	}
	if ms := timeLeft(ctx); ms > 0 {
		req.Header.Set(httpapi.HeaderTimeout, strconv.FormatInt(ms, 10))
	}
	resp, err := c.http.Do(req)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	case resp.StatusCode < 300:
		return resp, nil
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("%w: read answer: %w", ErrUnknownOutcome, err)
	}
	return nil, refusal(resp, raw)
}

// timeLeft returns the milliseconds until ctx ends, at least 1, or 0 if it has no deadline.
func timeLeft(ctx context.Context) int64 {
	if deadline, ok := ctx.Deadline(); ok {
		return max(1, time.Until(deadline).Milliseconds())
	}
	return 0
}

// refusal returns the Error of a response that is not 2xx.
func refusal(resp *http.Response, raw []byte) error {
	var p problem.Problem
	if err := json.Unmarshal(raw, &p); err != nil || p.Code == "" {
		p.Code, p.Detail = "http_"+strconv.Itoa(resp.StatusCode), http.StatusText(resp.StatusCode)
	}
	seconds, _ := strconv.ParseInt(resp.Header.Get("Retry-After"), 10, 32) // 0 if it is not a number
	return errorOf(p, resp.StatusCode, seconds)
}

func errorOf(p problem.Problem, status int, retryAfter int64) *Error {
	return &Error{
		Code: Code(p.Code), Status: status, Detail: p.Detail,
		RetryAfter: time.Duration(max(0, retryAfter)) * time.Second, kind: kindOf(Code(p.Code), status),
	}
}
