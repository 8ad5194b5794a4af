// Package prededuct takes the stock in Redis first and writes the ledger behind, as many flash sales do.
//
// A Lua script lowers the levels in Redis, records the flag and appends the operation to a log there; the caller gets
// DONE at once. One process at a time writes the log into the ledger, in its order and in groups, and then sets each
// Redis level to the ledger's level minus the pieces still in the log. The ledger decides an operation if the level in
// Redis is too low for it, or if it is the first of its product. So nobody is refused because Redis is behind, and
// restocks reach Redis.
//
// A stock service that dies loses nothing: the log is in Redis. A Redis that is flushed, or that dies before its own
// log is on disk, loses the operations that are not in the ledger yet, though callers got DONE. A cancellation that
// arrives before the operation is in the ledger wins there, though the caller got DONE. Therefore a service refuses the
// strategy unless an operator permits it.
package prededuct

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"orderstock/pkg/operation"
	"orderstock/pkg/redisdb"
	"orderstock/pkg/retry"
	"orderstock/stock-service/stock"
)

// Ledger is the ledger that the log is written into.
type Ledger interface {
	DeductGroup(ctx context.Context, requests []stock.Request, fence stock.Fence) ([]stock.Outcome, error)
	Find(ctx context.Context, flags ...string) (map[string]stock.Operation, error)
	Goods(ctx context.Context, ids ...int64) ([]stock.Goods, error)
}

// Config configures a strategy. Metrics may be nil.
type Config struct {
	Ledger Ledger
	// Redis is the server; Prefix is the prefix of all keys.
	Redis  redisdb.Server
	Prefix string
	// Wait bounds the wait for a decision of the ledger.
	Wait    time.Duration
	Metrics prometheus.Registerer
	Log     *slog.Logger
}

// Strategy implements deduct.Strategy. Make one with New.
type Strategy struct {
	cfg    Config
	log    *log
	more   chan struct{} // holds a value if the log may have grown
	stop   context.CancelFunc
	writer sync.WaitGroup
}

const (
	// maxGroup bounds the operations of one transaction.
	maxGroup = 256
	// writeLimit bounds a group's work.
	writeLimit = 3 * time.Second
	// idle is the pause of a process that is not the writer, or that has nothing to write.
	idle = 50 * time.Millisecond
)

// New returns a strategy that begins at once to write the log. Callers must Close it.
func New(cfg Config) *Strategy {
	ctx, stop := context.WithCancel(context.Background()) // the writer's lifetime: until Close
	s := &Strategy{cfg: cfg, log: newLog(cfg.Redis, cfg.Prefix, newWriter()), more: make(chan struct{}, 1), stop: stop}
	promauto.With(cfg.Metrics).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "stock_prededuct_unwritten", Help: "Operations in Redis that are not in the ledger yet; -1 if Redis is away.",
	}, func() float64 {
		n, err := s.log.len(ctx)
		if err != nil {
			return -1
		}
		return float64(n)
	})
	s.writer.Go(func() { s.write(ctx) })
	return s
}

// Deduct implements stock.Deducter, with the exceptions named in the package comment.
func (s *Strategy) Deduct(ctx context.Context, r stock.Request) (stock.Operation, error) {
	got, err := s.log.takes.Do(ctx, take{Request: r})
	if err == nil && got == unknown {
		if err := s.exist(ctx, r.Items); err != nil {
			return stock.Operation{}, err
		}
		got, err = s.log.takes.Do(ctx, take{r, true})
	}
	if err != nil { // Redis may have taken it
		return stock.Operation{}, fmt.Errorf("%w: %w", stock.ErrUnknownOutcome, err)
	}
	select {
	case s.more <- struct{}{}:
	default:
	}
	switch got {
	case taken:
		return stock.Operation{Flag: r.Flag, State: operation.Done, Items: r.Items}, nil
	case asked, repeated:
		op, err := s.await(ctx, r)
		op.Repeat = op.Repeat && got == repeated
		return op, err
	case conflict:
		return stock.Operation{}, fmt.Errorf("%w: flag %s has other items", stock.ErrFlagConflict, r.Flag)
	case full:
		return stock.Operation{}, stock.ErrOverloaded
	}
	return stock.Operation{}, fmt.Errorf("%w: redis answers %q", stock.ErrUnavailable, got)
}

// exist returns ErrUnknownGoods if one of the products does not.
func (s *Strategy) exist(ctx context.Context, items []operation.Item) error {
	ids := make([]int64, len(items))
	for i, item := range items {
		ids[i] = item.GoodsID
	}
	goods, err := s.cfg.Ledger.Goods(ctx, ids...)
	if err == nil && len(goods) < len(ids) {
		err = fmt.Errorf("%w: one of %v", stock.ErrUnknownGoods, ids)
	}
	return err
}

// await waits until the request is in the ledger.
func (s *Strategy) await(ctx context.Context, r stock.Request) (stock.Operation, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Wait)
	defer cancel()
	poll := retry.Policy{First: 2 * time.Millisecond, Max: 20 * time.Millisecond}
	op, err := retry.Do(ctx, poll, func() (stock.Operation, error) {
		recorded, err := s.cfg.Ledger.Find(ctx, r.Flag)
		if err != nil {
			return stock.Operation{}, err
		}
		op, ok := recorded[r.Flag]
		if !ok {
			return stock.Operation{}, errUnwritten
		}
		return op, nil
	})
	if err != nil {
		return stock.Operation{}, fmt.Errorf("%w: %w", stock.ErrUnknownOutcome, err)
	}
	return op.Answer(r.Items)
}

var errUnwritten = errors.New("not in the ledger yet")

// write writes the log into the ledger until ctx ends.
func (s *Strategy) write(ctx context.Context) {
	for ctx.Err() == nil {
		n, err := s.writeGroup(ctx)
		if err != nil && ctx.Err() == nil {
			s.cfg.Log.Warn("log not written; it is tried again", "error", err)
		}
		if n > 0 {
			continue
		}
		select {
		case <-ctx.Done():
		case <-s.more:
		case <-time.After(idle):
		}
	}
}

// writeGroup writes the oldest entries, and returns how many left the log.
func (s *Strategy) writeGroup(ctx context.Context) (int, error) {
	entries, err := s.log.claim(ctx, maxGroup)
	if err != nil || len(entries) == 0 {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	done, err := s.carryOut(ctx, entries)
	if len(done) == 0 {
		return 0, err
	}
	var ids []string
	var products []int64
	for _, e := range done {
		ids = append(ids, e.id)
		for _, item := range e.Items {
			products = append(products, item.GoodsID)
		}
	}
	slices.Sort(products)
	goods, readErr := s.cfg.Ledger.Goods(ctx, slices.Compact(products)...)
	if readErr != nil {
		return 0, errors.Join(err, readErr)
	}
	return len(done), errors.Join(err, s.log.settle(ctx, ids, goods))
}

// carryOut writes the entries and returns the entries that are done.
func (s *Strategy) carryOut(ctx context.Context, entries []entry) (done []entry, err error) {
	requests := make([]stock.Request, len(entries))
	for i, e := range entries {
		requests[i] = e.Request
	}
	outcomes, err := s.cfg.Ledger.DeductGroup(ctx, requests, nil)
	switch {
	case err == nil:
	case again(err):
		return nil, err
	case len(entries) == 1:
		outcomes = []stock.Outcome{{Err: err}}
	default: // the ledger refuses one of them: write each by itself, in order
		for i := range entries {
			one, err := s.carryOut(ctx, entries[i:i+1])
			if len(one) == 0 {
				return done, err
			}
			done = append(done, one...)
		}
		return done, nil
	}
	for i, e := range entries {
		if err := outcomes[i].Err; again(err) {
			continue
		} else if err != nil {
			s.cfg.Log.Error("operation dropped: the ledger refuses it", "flag", e.Flag, "error", err)
		}
		done = append(done, e)
	}
	return done, nil
}

// again reports whether a try failed for a reason that may pass.
func again(err error) bool {
	return errors.Is(err, stock.ErrUnavailable) || errors.Is(err, stock.ErrUnknownOutcome)
}

// Flush waits until everything is in the ledger.
func (s *Strategy) Flush(ctx context.Context) error {
	return retry.Run(ctx, retry.Policy{First: 2 * time.Millisecond, Max: 20 * time.Millisecond}, func() error {
		n, err := s.log.len(ctx)
		if err == nil && n > 0 {
			err = fmt.Errorf("%d operations: %w", n, errUnwritten)
		}
		return err
	})
}

// Ready implements deduct.Strategy.
func (s *Strategy) Ready(ctx context.Context) error {
	_, err := s.log.len(ctx)
	return err
}

// Close stops writing. Another process, or the next one, writes the rest of the log.
func (s *Strategy) Close() error {
	s.stop()
	s.writer.Wait()
	return s.log.close(context.Background())
}
