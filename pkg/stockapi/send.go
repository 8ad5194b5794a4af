package stockapi

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"orderstock/pkg/batch"
	"orderstock/pkg/observe"
	"orderstock/pkg/operation"
)

// maxAnswer bounds the body of an answer, in bytes.
const maxAnswer = 16 << 20

// call makes a call to the replicas in turn.
func call[T any](
	ctx context.Context, c *Client, tries int, guard func(*replica) *breaker, method, path string, body any,
) (T, error) {
	return at(ctx, c.inTurn(tries), guard, func(ctx context.Context, r *replica) (T, error) {
		return callAt[T](ctx, c, r, method, path, body)
	})
}

// callAt sends one request to the replica and reads its answer.
func callAt[T any](ctx context.Context, c *Client, r *replica, method, path string, sent any) (answer T, err error) {
	resp, err := c.open(ctx, r, method, path, sent)
	if err != nil {
		return answer, err
	}
	defer resp.Body.Close()
	body := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(body)
	body.Reset()
	if _, err := body.ReadFrom(io.LimitReader(resp.Body, maxAnswer)); err != nil {
		return answer, fmt.Errorf("%w: read answer: %w", operation.ErrUnknownOutcome, err)
	}
	if err := json.Unmarshal(body.Bytes(), &answer); err != nil {
		return answer, fmt.Errorf("%w: decode answer: %w", operation.ErrUnknownOutcome, err)
	}
	if !whole(answer) {
		return answer, errNotWhole
	}
	return answer, nil
}

// buffers are for answers, which are decoded at once.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

var errNotWhole = fmt.Errorf("%w: the answer lacks a required member", operation.ErrUnknownOutcome)

// whole reports whether an answer has its required members. One without is JSON, but not the stock service's, as from a
// front.
func whole(answer any) bool {
	switch a := answer.(type) {
	case operation.Operation:
		return wholeOperation(&a)
	case operation.Goods:
		return a.GoodsID != 0
	case FlowsResponse:
		return a.Operations != nil && a.Flows != nil
	case StockResponse:
		return a.Goods != nil
	}
	return false
}

func wholeOperation(o *operation.Operation) bool { return o.Flag != "" && o.State != "" }

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
	if err == nil || answered(err) {
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
	req.Header.Set("Authorization", "Bearer "+c.cfg.Token)
	if id := observe.RequestID(ctx); id != "" {
		req.Header.Set(observe.HeaderID, id)
	}
	if ms := timeLeft(ctx); ms > 0 {
		req.Header.Set(observe.HeaderTimeout, strconv.FormatInt(ms, 10))
	}
	resp, err := c.http.Do(req)
	switch {
	case errors.Is(err, errUnreached):
		return nil, fmt.Errorf("%w: %w", operation.ErrUnavailable, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", operation.ErrUnknownOutcome, err)
	case resp.StatusCode < 300:
		return resp, nil
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("%w: read answer: %w", operation.ErrUnknownOutcome, err)
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

// dialer connects to the replicas.
type dialer struct {
	net.Dialer
	serverName string // in the certificates; empty: the host that is called
}

// connectLimit bounds the time to connect and, with HTTPS, also the time of the handshake.
const connectLimit = 2 * time.Second

// newTransport returns a transport for many concurrent calls to few hosts.
func newTransport(serverName string) *http.Transport {
	d := &dialer{Dialer: net.Dialer{Timeout: connectLimit, KeepAlive: 15 * time.Second}, serverName: serverName}
	return &http.Transport{
		DialContext:         d.dial,
		DialTLSContext:      d.dialTLS,
		MaxIdleConns:        4096,
		MaxIdleConnsPerHost: 1024,
		IdleConnTimeout:     60 * time.Second,
		DisableCompression:  true,
	}
}

// errUnreached means that no connection was made, so that nothing can have happened.
var errUnreached = errors.New("not connected")

// dialTLS is dial with TLS. A server without a valid certificate counts as not reached.
func (d *dialer) dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	plain, err := d.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	host, _, _ := net.SplitHostPort(addr) // dial has read it
	conn := tls.Client(plain, &tls.Config{ServerName: cmp.Or(d.serverName, host), MinVersion: tls.VersionTLS12})
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreached, errors.Join(err, plain.Close()))
	}
	return conn, nil
}

// dial connects to an address of the name. Its error is errUnreached.
func (d *dialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreached, err)
	}
	return conn, nil
}

type sharedCall = batch.Call[Deduction, operation.Operation]

// deductShared is Deduct in a request to the replica that other calls may share.
func deductShared(
	ctx context.Context, r *replica, flag string, items []operation.Item,
) (operation.Operation, error) {
	op, err := r.shared.Do(ctx, Deduction{
		Flag: flag, Items: items, RequestID: observe.RequestID(ctx), Traceparent: observe.Parent(ctx),
	})
	if errors.Is(err, batch.ErrClosed) { // the replica has just left
		return op, fmt.Errorf("%w: %w: %w", operation.ErrUnavailable, errUnreached, err)
	}
	meanings := batch.Errors{
		Full: operation.ErrOverloaded, Undone: operation.ErrUnavailable, Unknown: operation.ErrUnknownOutcome,
	}
	return op, meanings.Of(ctx, err)
}

// sendShared sends one request for all calls that wait, and answers each as its line arrives.
func (c *Client) sendShared(ctx context.Context, r *replica, take func() []*sharedCall) {
	calls := take()
	if len(calls) == 0 {
		return
	}
	ctx, cancel := untilLast(ctx, calls)
	defer cancel()
	r.sent()
	defer r.ended()
	ctx, step := observe.Together(ctx, "shared request", time.Now(), batch.Contexts(calls))
	err := c.exchange(ctx, r, calls)
	step.End(err)
	if err != nil {
		for _, call := range calls { // answered calls keep their answers
			call.Resolve(operation.Operation{}, err)
		}
	}
}

func (c *Client) exchange(ctx context.Context, r *replica, calls []*sharedCall) error {
	body := DeductAllRequest{Operations: make([]Deduction, len(calls))}
	for i, call := range calls {
		body.Operations[i] = call.In
		body.Operations[i].TimeoutMS = timeLeft(call.Context())
	}
	resp, err := c.open(ctx, r, http.MethodPost, "/v1/operations", body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer))
	for range calls {
		var answer DeductAnswer
		if err := lines.Decode(&answer); err != nil {
			return fmt.Errorf("%w: read answer: %w", operation.ErrUnknownOutcome, err)
		}
		r.answered()
		switch {
		case answer.Index < 0 || answer.Index >= len(calls):
			return fmt.Errorf("%w: answer to deduction %d of %d", operation.ErrUnknownOutcome, answer.Index, len(calls))
		case answer.Operation != nil && !wholeOperation(answer.Operation):
			return errNotWhole
		case answer.Operation != nil:
			calls[answer.Index].Resolve(*answer.Operation, nil)
		case answer.Problem != nil:
			err := errorOf(*answer.Problem, answer.Problem.Status, answer.RetryAfter)
			calls[answer.Index].Resolve(operation.Operation{}, err)
		default:
			return fmt.Errorf("%w: empty answer", operation.ErrUnknownOutcome)
		}
	}
	_, err = io.Copy(io.Discard, resp.Body) // a body that was read to its end frees the connection
	if err != nil {
		return fmt.Errorf("%w: read answer: %w", operation.ErrUnknownOutcome, err)
	}
	return nil
}

// untilLast returns a context that ends with the latest deadline of the calls.
func untilLast(ctx context.Context, calls []*sharedCall) (context.Context, context.CancelFunc) {
	var last time.Time
	for _, call := range calls {
		deadline, ok := call.Context().Deadline()
		if !ok {
			return ctx, func() {}
		}
		if deadline.After(last) {
			last = deadline
		}
	}
	return context.WithDeadline(ctx, last)
}
