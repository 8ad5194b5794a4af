package faults

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"orderstock/loadtest/faults/faultpoint"
	"orderstock/loadtest/lab"
	"orderstock/pkg/mysqldb"
)

// frozen pauses a replica inside a transaction, after its rows are written. Other orders must keep finishing at half
// the previous rate or more.
type frozen struct {
	*strike
	pace

	struck      bool
	stopRepeats context.CancelFunc
	repeats     sync.WaitGroup
}

// frozenFor is how long a process is frozen. A frozen stock service holds the lock of the stock and the rows of the few
// products until its session and its connection end, about 6 s later.
var frozenFor = map[service]time.Duration{orderService: 8 * time.Second, stockService: 16 * time.Second}

func newFrozen(l *lab.Lab, by service, rng *rand.Rand) *frozen {
	at := point{step: faultpoint.InsertItems, by: by, wire: lab.ToMySQL}
	if by == stockService {
		at.step = faultpoint.InsertFlow
	}
	f := &frozen{
		strike: newStrike(l, at, Cell{When: faultpoint.After, Fault: Pause}, rng), pace: pace{orders: l.OrderDB},
	}
	f.target = 0
	return f
}

// Arm implements trial.Act. It first measures how many orders finish per second.
func (f *frozen) Arm(ctx context.Context) error {
	if err := f.measure(ctx); err != nil {
		return err
	}
	return f.strike.Arm(ctx)
}

// Fired implements trial.Act. It counts from the strike.
func (f *frozen) Fired(ctx context.Context) (int, error) {
	n, err := f.strike.Fired(ctx)
	if err == nil && n > 0 && !f.struck {
		f.struck = true
		if err = f.begin(ctx); err == nil && f.point.by == orderService {
			err = f.repeat(ctx)
		}
	}
	return n, err
}

// repeat keeps sending the orders held by the frozen process to the other order service, until the heal.
func (f *frozen) repeat(ctx context.Context) error {
	held, err := heldOrders(ctx, f.lab)
	if err != nil {
		return err
	}
	ctx, f.stopRepeats = context.WithCancel(ctx)
	url := f.lab.Orders[1-f.target].URL() + "/v1/orders"
	for key, body := range held {
		f.repeats.Go(func() {
			for ctx.Err() == nil {
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
				if err != nil {
					return // the address is a replica's
				}
				req.Header.Set("Content-Type", "application/json")
				req.Header.Set("Idempotency-Key", key)
				if resp, err := http.DefaultClient.Do(req); err == nil { // the answer is not judged
					_ = resp.Body.Close()
				}
				select {
				case <-ctx.Done():
				case <-time.After(20 * time.Millisecond):
				}
			}
		})
	}
	return nil
}

// heldOrders returns the body of each order that is inserted and not committed, by its key.
func heldOrders(ctx context.Context, l *lab.Lab) (map[string]string, error) {
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

// Hold implements trial.Act.
func (f *frozen) Hold() time.Duration { return frozenFor[f.point.by] }

// Heal implements trial.Act.
func (f *frozen) Heal(ctx context.Context) error {
	if f.stopRepeats != nil {
		f.stopRepeats()
		f.repeats.Wait()
	}
	var err error
	if f.struck {
		err = f.end(ctx)
	}
	return errors.Join(err, f.strike.Heal(ctx))
}

// Unmet implements demanding.
func (f *frozen) Unmet() error {
	return f.unmet(0.5, "%.1f orders a second ended while it was frozen, %.1f before: less than half")
}
