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
	"sync"
	"sync/atomic"
	"time"

	"orderstock/pkg/httpapi"
	"orderstock/pkg/observe"
	"orderstock/pkg/operation"
)

// Client calls the stock service. Each call carries the service token, the request id and the remaining time of the
// context.
//
// A deduction goes to the preferred replica of its first item's partition, so that this replica can group deductions of
// the partition and keep the lock; all other calls go to the replicas round robin. A call that cannot connect goes to
// the next replica at once. A call to a replica that has not answered anything for 0.3 s is also sent to the next one.
// Callers do the retries.
//
// It is safe for concurrent use. Make one with NewClient.
type Client struct {
	token      string
	dialer     *dialer
	http       *http.Client
	partitions int
	requests   int           // shared requests to a replica; 0 if each deduction has its own
	spread     bool          // deductions go to the replicas in turn
	discovered bool          // SetReplicas sets the replicas later
	hedge      time.Duration // hedgeDelay, except in tests
	newBreaker func(name string) breaker

	mu      sync.Mutex // held while fleet is replaced
	fleet   atomic.Pointer[fleet]
	turn    atomic.Uint64
	leaving sync.WaitGroup // replicas that are not called any more
}

// maxAnswer bounds the body of an answer, in bytes.
const maxAnswer = 16 << 20

// NewClient returns a client of the stock services at the base URLs, such as http://stock-service:8081. Callers must
// Close the client.
func NewClient(bases []string, token string, opts ...Option) (*Client, error) {
	d := newDialer()
	c := &Client{
		token: token, dialer: d, http: &http.Client{Transport: d.transport(), CheckRedirect: stay},
		partitions: operation.Partitions,
		hedge:      hedgeDelay, newBreaker: func(string) breaker { return closed{} },
	}
	for _, opt := range opts {
		opt(c)
	}
	if len(bases) == 0 && !c.discovered {
		return nil, errors.New("stock client: no base URL")
	}
	c.fleet.Store(rank(nil, c.partitions))
	if err := c.SetReplicas(bases); err != nil {
		return nil, err
	}
	return c, nil
}

// stay keeps the client, and so the token, at the address that it was given.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Option changes a client.
type Option func(*Client)

// WithMiddleware puts wrap around the transport, for example to trace the calls.
func WithMiddleware(wrap func(http.RoundTripper) http.RoundTripper) Option {
	return func(c *Client) { c.http.Transport = wrap(c.http.Transport) }
}

// WithServerName demands that the certificates of stock services that speak HTTPS are for that name. Default, and if
// the name is empty: the host of their base URL.
func WithServerName(name string) Option { return func(c *Client) { c.dialer.serverName = name } }

// WithPartitions sets the number of partitions of the stock, which should be the same as
// the stock services'. Default: operation.Partitions.
func WithPartitions(n int) Option { return func(c *Client) { c.partitions = max(1, n) } }

// WithSpread sends deductions to the replicas round robin. Default: to the preferred replica of the first item's
// partition.
func WithSpread() Option { return func(c *Client) { c.spread = true } }

// WithDiscovery lets the client begin without base URLs: SetReplicas sets them.
// Until then calls fail with ErrUnavailable.
func WithDiscovery() Option { return func(c *Client) { c.discovered = true } }

// Close waits for the shared requests in flight and closes the idle connections.
func (c *Client) Close() {
	for _, r := range c.fleet.Load().all {
		if r.shared != nil {
			r.shared.Close()
		}
	}
	c.leaving.Wait()
	c.http.CloseIdleConnections()
}

// Deduct takes the items from the stock under the flag, all or none, and returns
// the outcome: Done, Rejected, or, if the flag was cancelled, Cancelled or Restored.
// It may be repeated: a flag has one outcome. Errors: ErrFlagConflict,
// ErrUnknownGoods, ErrInvalid, ErrUnavailable, ErrOverloaded, ErrUnknownOutcome,
// ErrUnauthorized, ErrInternal.
func (c *Client) Deduct(ctx context.Context, flag string, items []Item) (Operation, error) {
	return at(ctx, c.forItems(ctx, items), writes, func(ctx context.Context, r *replica) (Operation, error) {
		if r.shared != nil {
			return deductShared(ctx, r, flag, items)
		}
		var op Operation
		err := c.callAt(ctx, r, http.MethodPut, "/v1/operations/"+url.PathEscape(flag), DeductRequest{Items: items}, &op)
		return checked(op, err)
	})
}

// Cancel ends the flag. If nothing is recorded under it, nothing will ever be deducted (Cancelled); a deduction is
// reversed (Restored); a rejection stays. It may be repeated. Errors as for Deduct.
func (c *Client) Cancel(ctx context.Context, flag string) (Operation, error) {
	return call[Operation](ctx, c, writes, http.MethodPost, "/v1/operations/"+url.PathEscape(flag)+"/cancel", nil)
}

// Flows returns the operations and the flow rows under the flags, at most 500.
func (c *Client) Flows(ctx context.Context, flags ...string) (FlowsResponse, error) {
	return call[FlowsResponse](ctx, c, reads, http.MethodGet, "/v1/flows?"+url.Values{"flag": flags}.Encode(), nil)
}

// Stock returns the products with these ids, at most 500, by ascending id. Unknown ones are missing.
func (c *Client) Stock(ctx context.Context, goodsIDs ...string) ([]Goods, error) {
	query := url.Values{"goods_id": goodsIDs}.Encode()
	page, err := call[StockResponse](ctx, c, reads, http.MethodGet, "/v1/stock?"+query, nil)
	return page.Goods, err
}

// Restock adds req.Num pieces to the product, once under req.Flag, and returns the
// product after it. It creates the product if it is new. Errors as for Deduct.
func (c *Client) Restock(ctx context.Context, goodsID string, req RestockRequest) (Goods, error) {
	return call[Goods](ctx, c, writes, http.MethodPost, "/v1/stock/"+url.PathEscape(goodsID)+"/restock", req)
}

// CheckToken asks the replicas in turn until one answers. It returns ErrUnauthorized if that one refuses the token, and
// nil otherwise, also if none answers before ctx ends. It says nothing about the replicas to the breakers.
func (c *Client) CheckToken(ctx context.Context) error {
	for _, r := range c.inTurn(c.fleet.Load()) {
		resp, err := c.send(ctx, http.MethodGet, r.base+"/v1/stock?goods_id=1", nil)
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body) // so that the connection is kept
			return resp.Body.Close()
		}
		if answer := (*Error)(nil); errors.As(err, &answer) {
			if errors.Is(err, ErrUnauthorized) {
				return fmt.Errorf("%s: %w", r.base, err)
			}
			return nil
		}
	}
	return nil
}

func writes(r *replica) breaker { return r.writes }

func reads(r *replica) breaker { return r.reads }

// call makes a call to the replicas in turn.
func call[T interface{ whole() bool }](
	ctx context.Context, c *Client, guard func(*replica) breaker, method, path string, body any,
) (T, error) {
	order := shifted(c.inTurn(c.fleet.Load()), triesOf(ctx))
	return at(ctx, order, guard, func(ctx context.Context, r *replica) (answer T, err error) {
		err = c.callAt(ctx, r, method, path, body, &answer)
		return checked(answer, err)
	})
}

// callAt sends one request to the replica and reads its answer.
func (c *Client) callAt(ctx context.Context, r *replica, method, path string, body, answer any) error {
	resp, err := c.open(ctx, r, method, path, body)
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

// checked returns errNotWhole if an answer lacks a required member: it is JSON, but not the stock service's, as from a
// front.
func checked[T interface{ whole() bool }](answer T, err error) (T, error) {
	if err == nil && !answer.whole() {
		err = errNotWhole
	}
	return answer, err
}

var errNotWhole = fmt.Errorf("%w: the answer lacks a required member", ErrUnknownOutcome)

// open sends one request to the replica. It returns an error for any status but 2xx;
// otherwise the caller reads the body and closes it.
func (c *Client) open(ctx context.Context, r *replica, method, path string, body any) (*http.Response, error) {
	var payload []byte
	if body != nil {
		var err error
		if payload, err = json.Marshal(body); err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
	}
	resp, err := c.send(ctx, method, r.base+path, payload)
	if refused := (*Error)(nil); err == nil || errors.As(err, &refused) {
		r.answered()
	}
	return resp, err
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
	if id := observe.RequestID(ctx); id != "" {
		req.Header.Set(observe.HeaderID, id)
	}
	if ms := timeLeft(ctx); ms > 0 {
		req.Header.Set(observe.HeaderTimeout, strconv.FormatInt(ms, 10))
	}
	resp, err := c.http.Do(req)
	switch {
	case errors.Is(err, errUnreached):
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
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
	var p httpapi.Problem
	if err := json.Unmarshal(raw, &p); err != nil || p.Code == "" {
		p.Code, p.Detail = "http_"+strconv.Itoa(resp.StatusCode), http.StatusText(resp.StatusCode)
	}
	seconds, _ := strconv.ParseInt(resp.Header.Get("Retry-After"), 10, 32) // 0 if it is not a number
	return errorOf(p, resp.StatusCode, seconds)
}

func errorOf(p httpapi.Problem, status int, retryAfter int64) *Error {
	kind := kindOf(Code(p.Code), status)
	if id, err := operation.ParseGoodsID(p.GoodsID); err == nil && errors.Is(kind, operation.ErrLocked) {
		kind = operation.Locked{GoodsID: id}
	}
	return &Error{
		Code: Code(p.Code), Status: status, Detail: p.Detail,
		RetryAfter: time.Duration(max(0, retryAfter)) * time.Second, kind: kind,
	}
}
