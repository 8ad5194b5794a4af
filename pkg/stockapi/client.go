package stockapi

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"orderstock/pkg/batch"
	"orderstock/pkg/operation"
)

// Config configures a Client. The zero value of a field means its default.
type Config struct {
	// Token is the service token, which each call carries.
	Token string
	// ServerName is the name in the certificates of stock services that speak HTTPS. Default: the host of their base URL.
	ServerName string
	// Partitions is the number of partitions of the stock, the same as the stock services'. Default operation.Partitions.
	Partitions int
	// Spread sends deductions to the replicas round robin. Default: to the preferred replica of the first item's
	// partition.
	Spread bool
	// SharedRequests lets concurrent deductions share requests. Up to so many are in flight to each replica, and up to
	// four times as many if the additional ones are full. A deduction is sent at once while there are fewer; otherwise it
	// waits and shares the next request. Each keeps its own deadline and gets its answer as soon as it arrives. Default:
	// one request for each deduction.
	SharedRequests int
	// BreakerRest, if above zero, opens a replica's circuit breaker for so long if, within a second or two, at least ten
	// calls and six of ten failed; calls for it go to the next one. A healthy service's refusals are no failures. Writes
	// and reads are counted separately.
	BreakerRest time.Duration
	// Timeout bounds one try. Default 2 s.
	Timeout time.Duration
	// Tries bounds the tries of a write. Default 3.
	Tries uint
	// Middleware, if not nil, wraps the transport, for example to trace the calls.
	Middleware func(http.RoundTripper) http.RoundTripper
	// Metrics, if not nil, registers the counters of calls.
	Metrics prometheus.Registerer
	// Log, if not nil, gets each change of a breaker's state.
	Log *slog.Logger

	hedge time.Duration // hedgeDelay, except in tests
}

func (c Config) withDefaults() Config {
	c.Partitions = cmp.Or(c.Partitions, operation.Partitions)
	c.Timeout = cmp.Or(c.Timeout, 2*time.Second)
	c.Tries = cmp.Or(c.Tries, 3)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	c.hedge = cmp.Or(c.hedge, hedgeDelay)
	if c.Middleware == nil {
		c.Middleware = func(t http.RoundTripper) http.RoundTripper { return t }
	}
	return c
}

// Client calls the stock service. Each call carries the service token, the request id and the remaining time of its
// context. The errors are codes of package operation; operation.CodeOf says which one counts. It is safe for concurrent
// use. Make one with NewClient.
//
// A deduction goes to the preferred replica of its first item's partition, so that this replica can group deductions of
// the partition and keep the lock; all other calls go to the replicas round robin. A call that cannot connect goes to
// the next replica at once. A call to a replica that has not answered anything for 0.3 s is also sent to the next one.
type Client struct {
	cfg    Config
	http   *http.Client
	writes *budget // of the retries of deductions and cancellations
	reads  *budget // of the retries of reads, which must not use up the others'
	ledger *batch.Group[string, record]
	counts counts
	held   operation.Held

	mu      sync.Mutex // held while fleet is replaced
	fleet   atomic.Pointer[fleet]
	turn    atomic.Uint64
	leaving sync.WaitGroup // replicas that are not called any more
}

// NewClient returns a client of the stock services at the base URLs, such as http://stock-service:8081. Without any,
// calls fail with ErrUnavailable until SetReplicas. Callers must Close the client.
func NewClient(bases []string, cfg Config) (*Client, error) {
	cfg = cfg.withDefaults()
	c := &Client{
		cfg: cfg, writes: newBudget(), reads: newBudget(),
		http: &http.Client{Transport: cfg.Middleware(newTransport(cfg.ServerName)), CheckRedirect: stay},
	}
	c.fleet.Store(rank(nil, cfg.Partitions))
	if err := c.SetReplicas(bases); err != nil {
		return nil, err
	}
	c.counts = newCounts(cfg.Metrics, c.Down)
	c.ledger = batch.Func(c.readLedger, batch.WithMaxSize(maxFlags), batch.WithTimeout(cfg.Timeout))
	return c, nil
}

// stay keeps the client, and so the token, at the address that it was given.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Close waits for the shared requests in flight and closes the idle connections.
func (c *Client) Close() {
	c.ledger.Close()
	for _, r := range c.fleet.Load().all {
		if r.shared != nil {
			r.shared.Close()
		}
	}
	c.leaving.Wait()
	c.http.CloseIdleConnections()
}

// Deduct takes the items from the stock under the flag, all or none, and returns the outcome: Done, Rejected, or, if
// the flag was cancelled, Cancelled or Restored. It may be repeated: a flag has one outcome.
func (c *Client) Deduct(ctx context.Context, flag string, items []operation.Item) (operation.Operation, error) {
	return write(ctx, c, func(ctx context.Context, tries int) (operation.Operation, error) {
		return at(ctx, c.forItems(items, tries), writes, func(ctx context.Context, r *replica) (operation.Operation, error) {
			if r.shared != nil {
				return deductShared(ctx, r, flag, items)
			}
			return callAt[operation.Operation](ctx, c, r, http.MethodPut, "/v1/operations/"+url.PathEscape(flag),
				DeductRequest{Items: items})
		})
	})
}

// Cancel ends the flag. If nothing is recorded under it, nothing will ever be deducted (Cancelled); a deduction is
// reversed (Restored); a rejection stays. It may be repeated.
func (c *Client) Cancel(ctx context.Context, flag string) (operation.Operation, error) {
	return write(ctx, c, func(ctx context.Context, tries int) (operation.Operation, error) {
		return call[operation.Operation](ctx, c, tries, writes, http.MethodPost,
			"/v1/operations/"+url.PathEscape(flag)+"/cancel", nil)
	})
}

// Restock adds r.Num pieces to the product, once under r.Flag, and returns the product after it. It creates the product
// if it is new.
func (c *Client) Restock(ctx context.Context, r operation.Restock) (operation.Goods, error) {
	return write(ctx, c, func(ctx context.Context, tries int) (operation.Goods, error) {
		path := "/v1/stock/" + operation.FormatGoodsID(r.GoodsID) + "/restock"
		return call[operation.Goods](ctx, c, tries, writes, http.MethodPost, path, r)
	})
}

// Pass returns ErrUnavailable or a Locked if a change of the items is known to fail now. Otherwise the caller goes on
// to Deduct or Cancel, and must report the end, with the result of that call, or with the zero Operation if it was not
// made: see operation.Report.
func (c *Client) Pass(items []operation.Item) (report operation.Report, err error) {
	if c.Down() {
		return nil, fmt.Errorf("%w: no replica may be called", operation.ErrUnavailable)
	}
	return c.held.Pass(items)
}

// checkLimit bounds CheckToken: a stock service that does not answer is no reason to keep a caller waiting.
const checkLimit = 500 * time.Millisecond

// CheckToken returns an error if a stock service answers that it refuses the service token. It asks the replicas in
// turn until one answers, and says nothing about them to the breakers. A stock service that does not answer is not an
// error: calls wait for it.
func (c *Client) CheckToken(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	for _, r := range c.inTurn(0) {
		resp, err := c.send(ctx, http.MethodGet, r.base+"/v1/stock?goods_id=1", nil)
		switch {
		case err == nil:
			_, _ = io.Copy(io.Discard, resp.Body) // so that the connection is kept
			return resp.Body.Close()
		case operation.CodeOf(err) == operation.ErrUnauthorized:
			return fmt.Errorf("SERVICE_TOKEN is not the stock service's: %s: %w", r.base, err)
		case answered(err):
			return nil
		}
	}
	return nil
}
