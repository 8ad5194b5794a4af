package faults

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"orderstock/loadtest/faults/faultpoint"
	"orderstock/loadtest/system"
	"orderstock/loadtest/trial"
	"orderstock/pkg/mysqldb"
)

// frozenFor is how long a process is frozen. A frozen stock service holds the lock of the stock and the rows of the few
// products until its session and its connection end, about 6 s later.
var frozenFor = map[service]time.Duration{orderService: 8 * time.Second, stockService: 16 * time.Second}

// newFrozen returns the fault that pauses a replica inside a transaction, after its rows are written. Other orders must
// keep finishing at half the previous rate or more. The orders held by a frozen order service are repeated elsewhere.
func newFrozen(l *system.System, by service, rng *rand.Rand) *demanding {
	at := point{step: faultpoint.InsertItems, by: by, wire: system.ToMySQL}
	if by == stockService {
		at.step = faultpoint.InsertFlow
	}
	s := newStrike(l, at, Cell{When: faultpoint.After, Fault: Pause}, rng)
	s.target = 0
	p := pace{orders: l.OrderDB}
	struck, stop := false, func() {}
	return &demanding{
		Simple: trial.Simple{
			For:   frozenFor[by],
			Count: s.Count,
			Do: func(ctx context.Context) error {
				if err := p.measure(ctx); err != nil {
					return err
				}
				if err := s.Arm(ctx); err != nil {
					return err
				}
				err := await(ctx, strikeWithin, "for the strike", func(ctx context.Context) error {
					n, err := s.Fired(ctx)
					if err == nil && n == 0 {
						err = errors.New("the fault never struck")
					}
					return err
				})
				if err != nil {
					return err
				}
				if err = p.begin(ctx); err == nil && by == orderService {
					stop, err = repeatHeld(ctx, l)
				}
				struck = err == nil
				return err
			},
			Undo: func(ctx context.Context) (err error) {
				stop()
				if struck {
					err = p.end(ctx)
				}
				return errors.Join(err, s.Heal(ctx))
			},
		},
		unmet: func() error {
			return p.unmet(0.5, "%.1f orders a second ended while it was frozen, %.1f before: less than half")
		},
	}
}

// repeatHeld keeps sending the orders held by the frozen first order service to the second, until stop is called.
func repeatHeld(ctx context.Context, l *system.System) (stop func(), err error) {
	held, err := heldOrders(ctx, l)
	if err != nil {
		return func() {}, err
	}
	var repeating sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	for key, body := range held {
		repeating.Go(func() {
			for ctx.Err() == nil {
				_ = l.Orders[1].PostOrder(ctx, key, body) // the databases show its outcome
				_ = trial.Sleep(ctx, 20*time.Millisecond)
			}
		})
	}
	return func() {
		cancel()
		repeating.Wait()
	}, nil
}

// heldOrders returns the body of each order that is inserted and not committed, by its key.
func heldOrders(ctx context.Context, l *system.System) (map[string]string, error) {
	const query = "SELECT idempotency_key, GROUP_CONCAT(CONCAT('{\"goods_id\":\"', goods_id, '\",\"num\":', num, '}'))" +
		" FROM orders JOIN order_items ON order_id = id WHERE idempotency_key IS NOT NULL GROUP BY idempotency_key"
	read := func(isolation sql.IsolationLevel) (map[string]string, error) {
		tx, err := l.OrderDB.BeginTx(ctx, &sql.TxOptions{Isolation: isolation})
		if err != nil {
			return nil, fmt.Errorf("read held orders: %w", err)
		}
		defer func() { _ = tx.Rollback() }() // read-only
		orders := map[string]string{}
		for o, err := range mysqldb.Rows(ctx, tx, func(o *[2]string) []any { return []any{&o[0], &o[1]} }, query) {
			if err != nil {
				return nil, fmt.Errorf("read held orders: %w", err)
			}
			orders[o[0]] = o[1]
		}
		return orders, nil
	}
	committed, err := read(sql.LevelReadCommitted)
	if err != nil {
		return nil, err
	}
	held, err := read(sql.LevelReadUncommitted)
	if err != nil {
		return nil, err
	}
	for key, items := range held {
		if held[key] = `{"items":[` + items + `]}`; committed[key] != "" {
			delete(held, key)
		}
	}
	if len(held) == 0 {
		return nil, errors.New("the frozen process holds no order")
	}
	return held, nil
}
