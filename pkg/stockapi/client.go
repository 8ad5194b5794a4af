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

	"orderstock/pkg/httpapi"
)

// Client calls the stock service. It passes the service token, the request id
// and the remaining time of the context on with each call, and spreads the
// calls over the base URLs in turn. It sends a call once; only where a
// connection was refused, so that nothing can have happened, it goes on to the
// next base URL. Retrying is its caller's decision.
//
// Safe for concurrent use; make one with NewClient.
type Client struct {
	bases []string
	token string
	http  *http.Client
	turn  atomic.Uint64
}

// maxAnswer bounds the body of an answer, in bytes.
const maxAnswer = 16 << 20

// NewClient returns a client of the stock services at the base URLs, such as
// http://stock-service:8081. One name may stand for several replicas: new
// connections take its addresses in turn.
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

// Close drops the idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Deduct takes the items from the stock under the flag, all or none, and
// returns the outcome: Done, Rejected, or, where the flag was cancelled before,
// Cancelled or Restored. It may be repeated: a flag has one outcome. Errors:
// ErrFlagConflict, ErrUnknownGoods, ErrInvalid, ErrUnavailable, ErrOverloaded,
// ErrUnknownOutcome, ErrUnauthorized, ErrInternal.
func (c *Client) Deduct(ctx context.Context, flag string, items []Item) (Operation, error) {
	var op Operation
	err := c.call(ctx, http.MethodPut, "/v1/operations/"+url.PathEscape(flag), DeductRequest{Items: items}, &op)
	return op, err
}

// Cancel ends the flag: where nothing is recorded under it, nothing ever will
// be deducted (Cancelled); a deduction is given back (Restored); a rejection
// stays. It may be repeated. Errors as for Deduct.
func (c *Client) Cancel(ctx context.Context, flag string) (Operation, error) {
	var op Operation
	err := c.call(ctx, http.MethodPost, "/v1/operations/"+url.PathEscape(flag)+"/cancel", nil, &op)
	return op, err
}

// Flows returns what is recorded under the flags, at most 500 of them: outcomes and flow rows.
func (c *Client) Flows(ctx context.Context, flags ...string) (FlowsResponse, error) {
	var flows FlowsResponse
	err := c.call(ctx, http.MethodGet, "/v1/flows?"+url.Values{"flag": flags}.Encode(), nil, &flows)
	return flows, err
}

// Stock returns the named goods, at most 500, by rising id. Unknown ones are missing from the answer.
func (c *Client) Stock(ctx context.Context, goodsIDs ...string) ([]Goods, error) {
	var page StockResponse
	err := c.call(ctx, http.MethodGet, "/v1/stock?"+url.Values{"goods_id": goodsIDs}.Encode(), nil, &page)
	return page.Goods, err
}

// StockPage returns up to limit goods with ids above after, by rising id. An
// empty after starts at the first; limit 0 leaves it to the service.
func (c *Client) StockPage(ctx context.Context, after string, limit int) (StockResponse, error) {
	query := url.Values{}
	if after != "" {
		query.Set("after", after)
	}
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	var page StockResponse
	err := c.call(ctx, http.MethodGet, "/v1/stock?"+query.Encode(), nil, &page)
	return page, err
}

// Restock adds req.Num pieces to the goods, which it makes if new, once under
// req.Flag, and returns the level after it. Errors as for Deduct.
func (c *Client) Restock(ctx context.Context, goodsID string, req RestockRequest) (Goods, error) {
	var goods Goods
	err := c.call(ctx, http.MethodPost, "/v1/stock/"+url.PathEscape(goodsID)+"/restock", req, &goods)
	return goods, err
}

func (c *Client) call(ctx context.Context, method, path string, body, answer any) error {
	var payload []byte
	if body != nil {
		var err error
		if payload, err = json.Marshal(body); err != nil {
			return fmt.Errorf("encode request: %w", err)
		}
	}
	first := c.turn.Add(1)
	for i := range c.bases {
		base := c.bases[(first+uint64(i))%uint64(len(c.bases))]
		err := c.send(ctx, method, base+path, payload, answer)
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return err
		}
		if i == len(c.bases)-1 {
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
	return nil
}

func (c *Client) send(ctx context.Context, method, target string, payload []byte, answer any) error {
	var body io.Reader
	if payload != nil {
		body = bytes.NewReader(payload)
	}
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	if payload != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	if id := httpapi.RequestID(ctx); id != "" {
		req.Header.Set(httpapi.HeaderRequestID, id)
	}
	if deadline, ok := ctx.Deadline(); ok {
		left := max(1, time.Until(deadline).Milliseconds())
		req.Header.Set(httpapi.HeaderTimeout, strconv.FormatInt(left, 10))
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if errors.Is(err, syscall.ECONNREFUSED) {
			return err
		}
		return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("%w: read answer: %w", ErrUnknownOutcome, err)
	}
	if resp.StatusCode >= 300 {
		return refusal(resp, raw)
	}
	if err := json.Unmarshal(raw, answer); err != nil {
		return fmt.Errorf("%w: decode answer: %w", ErrUnknownOutcome, err)
	}
	return nil
}

// refusal reads a problem back into an Error.
func refusal(resp *http.Response, raw []byte) error {
	var p httpapi.Problem
	if err := json.Unmarshal(raw, &p); err != nil || p.Code == "" {
		p.Code, p.Detail = "http_"+strconv.Itoa(resp.StatusCode), http.StatusText(resp.StatusCode)
	}
	e := &Error{Code: Code(p.Code), Status: resp.StatusCode, Detail: p.Detail, kind: kindOf(Code(p.Code), resp.StatusCode)}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	return e
}
