package stockapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"orderstock/pkg/batch"
	"orderstock/pkg/operation"
	"orderstock/pkg/retry"
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
	// and reads are counted separately. After its rest, a breaker lets five calls through, the probes: a failure opens it
	// again, five successes close it. Calls that no other replica can take wait for that, for as long as the rest at most.
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
	ledger *batch.Queue[string, record]
	counts counts
	gate   operation.Gate
	ends   ends // of all calls at breakers
	// writeRetries is the budget of deductions and cancellations, readRetries the one of reads, which must not use up the
	// others'.
	writeRetries, readRetries *budget

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
		cfg: cfg, writeRetries: newBudget(), readRetries: newBudget(),
		http: &http.Client{Transport: cfg.Middleware(newTransport(cfg.ServerName)), CheckRedirect: stay},
	}
	c.fleet.Store(rank(nil, cfg.Partitions))
	if err := c.SetReplicas(bases); err != nil {
		return nil, err
	}
	c.counts = newCounts(cfg.Metrics, c.down)
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
		order := c.forItems(items, tries)
		return at(ctx, order, ofWrites, func(ctx context.Context, r *replica) (operation.Operation, error) {
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
		return call[operation.Operation](ctx, c, tries, ofWrites, http.MethodPost,
			"/v1/operations/"+url.PathEscape(flag)+"/cancel", nil)
	})
}

// Restock adds r.Num pieces to the product, once under r.Flag, and returns the product after it. It creates the product
// if it is new.
func (c *Client) Restock(ctx context.Context, r operation.Restock) (operation.Goods, error) {
	return write(ctx, c, func(ctx context.Context, tries int) (operation.Goods, error) {
		path := "/v1/stock/" + operation.FormatGoodsID(r.GoodsID) + "/restock"
		return call[operation.Goods](ctx, c, tries, ofWrites, http.MethodPost, path, r)
	})
}

// Pass returns ErrUnavailable or a Locked if a change of the items is known to fail now: no replica is known, the
// breakers of all refuse it, or a product is held. Otherwise the caller goes on to Deduct or Cancel, and must report
// the end, with the result of that call, or with the zero Operation if it was not made: see operation.Report. Like a
// call, Pass waits until ctx ends for the outcome of probes in flight: see Config.BreakerRest.
func (c *Client) Pass(ctx context.Context, items []operation.Item) (report operation.Report, err error) {
	all := c.fleet.Load().all
	if !slices.ContainsFunc(all, func(r *replica) bool { return r.writes.closed() }) { // seldom
		_, end, err := admitted(ctx, all, ofWrites)
		if err != nil {
			return nil, err
		}
		end(context.Canceled) // it was no call, and says nothing about the service
	}
	return c.gate.Pass(items)
}

// down returns 1 while no breaker lets a write through, and 0 otherwise.
func (c *Client) down() float64 {
	_, end, _, err := admit(c.fleet.Load().all, ofWrites)
	if err != nil {
		return 1
	}
	end(context.Canceled)
	return 0
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

const (
	// maxFlags bounds the flags of one request, which keeps its URL short. The service takes up to 500.
	maxFlags = 200
	// maxGoods bounds the products of one request.
	maxGoods = 400
	// readTries bounds the tries of a read of products.
	readTries = 2
)

// record is a flag's record in the ledger. found is false if there is none; err is not nil if the record contradicts
// itself.
type record struct {
	op    operation.Operation
	found bool
	err   error
}

// Flows returns the operations and the flow rows under the flags, at most 500.
func (c *Client) Flows(ctx context.Context, flags ...string) (FlowsResponse, error) {
	return call[FlowsResponse](ctx, c, 0, ofReads, http.MethodGet, "/v1/flows?"+url.Values{"flag": flags}.Encode(), nil)
}

// Stock returns the products with these ids, at most 500, by ascending id. Unknown ones are missing.
func (c *Client) Stock(ctx context.Context, goodsIDs ...int64) ([]operation.Goods, error) {
	query := url.Values{}
	for _, id := range goodsIDs {
		query.Add("goods_id", operation.FormatGoodsID(id))
	}
	page, err := call[StockResponse](ctx, c, 0, ofReads, http.MethodGet, "/v1/stock?"+query.Encode(), nil)
	return page.Goods, err
}

// Recorded returns the flag's operation in the ledger, and whether there is one. It returns ErrBooksDisagree if the
// operation contradicts its flow rows, and ErrUnavailable. Concurrent calls share one request. It is not retried,
// because callers poll.
func (c *Client) Recorded(ctx context.Context, flag string) (operation.Operation, bool, error) {
	r, err := c.ledger.Do(ctx, flag)
	if err != nil {
		return operation.Operation{}, false, unread("flows", err)
	}
	return r.op, r.found, r.err
}

// unread returns the error of a failed read. A read changes nothing, so its cause shows no other code.
func unread(what string, err error) error {
	return fmt.Errorf("%w: read %s: %v", operation.ErrUnavailable, what, err) //nolint:errorlint // for the reason given
}

func (c *Client) readLedger(ctx context.Context, flags []string) ([]record, error) {
	flows, err := c.Flows(ctx, flags...)
	if err != nil {
		return nil, err
	}
	deducted := make(map[string][]operation.Item, len(flags))
	for _, f := range flows.Flows {
		if f.Kind == operation.KindDeduct {
			deducted[f.Flag] = append(deducted[f.Flag], operation.Item{GoodsID: f.GoodsID, Num: -f.Num})
		}
	}
	found := make(map[string]*operation.Operation, len(flags))
	for i := range flows.Operations {
		found[flows.Operations[i].Flag] = &flows.Operations[i]
	}
	records := make([]record, len(flags))
	for i, flag := range flags {
		op := found[flag]
		if op == nil {
			continue
		}
		records[i] = record{op: *op, found: true}
		if !complete(*op, deducted[flag]) { // a record exists, but nothing may be decided by it
			records[i].err = fmt.Errorf("%w: flows of flag %s are not its operation's items", operation.ErrBooksDisagree, flag)
		}
	}
	return records, nil
}

// complete reports whether a deduction has exactly its flow rows. The stock service writes both in one transaction, so
// a difference is a reason to decide nothing.
func complete(op operation.Operation, deducted []operation.Item) bool {
	if op.State != operation.Done || slices.Equal(op.Items, deducted) {
		return true
	}
	byGoods := func(a, b operation.Item) int { return cmp.Compare(a.GoodsID, b.GoodsID) }
	items := slices.Clone(op.Items)
	slices.SortFunc(items, byGoods)
	slices.SortFunc(deducted, byGoods)
	return slices.Equal(items, deducted)
}

// Prices returns the price of each product; unknown ones are missing. It tries twice, and may return ErrUnavailable.
func (c *Client) Prices(ctx context.Context, goodsIDs []int64) (map[int64]int64, error) {
	goods, err := c.goods(ctx, "prices", goodsIDs)
	prices := make(map[int64]int64, len(goods))
	for _, g := range goods {
		prices[g.GoodsID] = g.Price
	}
	return prices, err
}

// Oversold returns the products whose level is below zero. It tries twice, and may return ErrUnavailable.
func (c *Client) Oversold(ctx context.Context, goodsIDs []int64) (oversold []int64, err error) {
	goods, err := c.goods(ctx, "levels", goodsIDs)
	for _, g := range goods {
		if g.Num < 0 {
			oversold = append(oversold, g.GoodsID)
		}
	}
	return oversold, err
}

// goods returns all of the products that the stock service knows, or unread(what).
func (c *Client) goods(ctx context.Context, what string, goodsIDs []int64) (all []operation.Goods, err error) {
	for chunk := range slices.Chunk(goodsIDs, maxGoods) {
		goods, err := c.page(ctx, chunk)
		if err != nil {
			return nil, unread(what, err)
		}
		all = append(all, goods...)
	}
	return all, nil
}

func (c *Client) page(ctx context.Context, goodsIDs []int64) ([]operation.Goods, error) {
	c.readRetries.deposit()
	tries := 0
	again := retry.Policy{First: 10 * time.Millisecond, Max: 10 * time.Millisecond, Tries: readTries, InTime: true}
	return retry.Do(ctx, again, func() ([]operation.Goods, error) {
		ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
		defer cancel()
		goods, err := c.Stock(ctx, goodsIDs...)
		tries++
		final := errors.Is(err, errBreakerOpen) || operation.CodeOf(err).Scope() == operation.Final
		if err != nil && (final || tries < readTries && !c.readRetries.withdraw()) {
			err = retry.Stop(err)
		}
		return goods, err
	})
}
