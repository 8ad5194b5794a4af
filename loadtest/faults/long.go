package faults

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"orderstock/loadtest/faults/faultpoint"
	"orderstock/loadtest/fire"
	"orderstock/loadtest/lab"
	"orderstock/loadtest/trial"
)

// The faults that last longer than the others. Each makes an extra demand of the system while it lasts or just after.
// They strike alone.
const (
	OrderFrozen     = "order-frozen"     // an order service is paused in a transaction, its keys are repeated elsewhere
	StockFrozen     = "stock-frozen"     // a stock service is paused in a transaction, its flags are repeated elsewhere
	ZooKeeperFrozen = "zookeeper-frozen" // ZooKeeper is paused for 14 s
	ZooKeeperGone   = "zookeeper-gone"   // ZooKeeper is stopped for 60 s
	LeaderCut       = "leader-cut"       // no reply of a stock service reaches the order service that reconciles
)

// Alone lists those faults.
var Alone = []string{OrderFrozen, StockFrozen, ZooKeeperFrozen, ZooKeeperGone, LeaderCut}

// longLoads are the loads for the faults of Alone, and last as long. Where every order is sent to two replicas at once,
// orders held by a frozen replica are repeated elsewhere. There are many clients, since a call to a paused process
// occupies its client until it times out.
var longLoads = map[string]fire.Config{
	OrderFrozen:     {Orders: 600, Rate: 45, Concurrency: 512, Mix: fire.Mix{Cancel: 0.1, Repeat: 1}},
	StockFrozen:     {Orders: 1000, Rate: 45, Concurrency: 512, Mix: fire.Mix{Cancel: 0.1, Repeat: 1}},
	ZooKeeperFrozen: {Orders: 600, Rate: 40, Concurrency: 256, Mix: fire.Mix{Cancel: 0.1}},
	ZooKeeperGone:   {Orders: 3600, Rate: 50, Concurrency: 256, Mix: fire.Mix{Cancel: 0.1}},
	LeaderCut:       {Orders: 600, Rate: 40, Concurrency: 256, Mix: fire.Mix{Cancel: 0.1}},
}

// longEnv is added to Env for a fault. The services are restarted with it.
var longEnv = map[string]map[string]string{
	StockFrozen: {"STOCK_SPREAD": "true"}, // so that the first stock service has work
}

// demanding is a fault with demands that the databases and the history do not show.
type demanding interface {
	trial.Act
	// Unmet returns the demands that were not met, after the heal.
	Unmet() error
}

var (
	_ demanding = (*frozen)(nil)
	_ demanding = (*recovering)(nil)
	_ demanding = (*gone)(nil)
	_ demanding = (*leaderCut)(nil)
)

// frozen pauses a replica inside a transaction, after its rows are written. Other orders must keep finishing at half
// the previous rate or more.
type frozen struct {
	*strike
	before float64 // orders finished per second, before the fault

	struck time.Time
	ended  int
	during float64

	stopRepeats context.CancelFunc
	repeats     sync.WaitGroup
}

const measureFor = 2 * time.Second

// frozenFor is how long a process is frozen. A frozen stock service holds the lock of the stock and the rows of the few
// products until its session and its connection end, about 6 s later.
var frozenFor = map[service]time.Duration{orderService: 8 * time.Second, stockService: 16 * time.Second}

func newFrozen(l *lab.Lab, by service, rng *rand.Rand) *frozen {
	at := point{step: faultpoint.InsertItems, by: by, wire: lab.ToMySQL}
	if by == stockService {
		at.step = faultpoint.InsertFlow
	}
	f := &frozen{strike: newStrike(l, at, Cell{When: string(faultpoint.After), Fault: Pause}, rng)}
	f.target = 0
	return f
}

// Arm implements trial.Act. It first measures how many orders finish per second.
func (f *frozen) Arm(ctx context.Context) (err error) {
	if f.before, err = endRate(ctx, f.lab); err != nil {
		return err
	}
	return f.strike.Arm(ctx)
}

// endRate returns how many orders finish per second, over measureFor.
func endRate(ctx context.Context, l *lab.Lab) (float64, error) {
	first, err := countEnded(ctx, l)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := trial.Sleep(ctx, measureFor); err != nil {
		return 0, err
	}
	last, err := countEnded(ctx, l)
	return float64(last-first) / time.Since(began).Seconds(), err
}

// Fired implements trial.Act. It counts from the strike.
func (f *frozen) Fired(ctx context.Context) (int, error) {
	n, err := f.strike.Fired(ctx)
	if err == nil && n > 0 && f.struck.IsZero() {
		f.struck = time.Now()
		if f.ended, err = countEnded(ctx, f.lab); err == nil && f.point.by == orderService {
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
		return pairs(ctx, tx, query)
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
	ended, err := countEnded(ctx, f.lab)
	if !f.struck.IsZero() {
		f.during = float64(ended-f.ended) / time.Since(f.struck).Seconds()
	}
	return errors.Join(err, f.strike.Heal(ctx))
}

// Unmet implements demanding.
func (f *frozen) Unmet() error {
	if f.before == 0 {
		return errors.New("no order ended before the fault")
	}
	if f.during < f.before/2 {
		return fmt.Errorf("%.1f orders a second ended while it was frozen, %.1f before: less than half", f.during, f.before)
	}
	return nil
}

func countEnded(ctx context.Context, l *lab.Lab) (n int, err error) {
	if err := l.OrderDB.QueryRowContext(ctx,
		"SELECT COUNT(*) FROM orders WHERE outcome IS NOT NULL").Scan(&n); err != nil {
		return 0, fmt.Errorf("count orders that ended: %w", err)
	}
	return n, nil
}

// gone stops a server. Orders must keep finishing at 0.8 of the rate before, or more.
type gone struct {
	*surrounding
	lab            *lab.Lab
	before, during float64 // orders that finish per second

	struck time.Time
	ended  int
}

// Arm implements trial.Act.
func (f *gone) Arm(ctx context.Context) (err error) {
	if f.before, err = endRate(ctx, f.lab); err != nil {
		return err
	}
	if f.ended, err = countEnded(ctx, f.lab); err != nil {
		return err
	}
	f.struck = time.Now()
	return f.surrounding.Arm(ctx)
}

// Heal implements trial.Act.
func (f *gone) Heal(ctx context.Context) error {
	ended, err := countEnded(ctx, f.lab)
	f.during = float64(ended-f.ended) / time.Since(f.struck).Seconds()
	return errors.Join(err, f.surrounding.Heal(ctx))
}

// Unmet implements demanding.
func (f *gone) Unmet() error {
	if f.before == 0 {
		return errors.New("no order ended before the fault")
	}
	if f.during < 0.8*f.before {
		return fmt.Errorf("%.1f orders per second finished without the server, %.1f before: less than 0.8", f.during,
			f.before)
	}
	return nil
}

// recovering is a surrounding fault. After the heal, every order service must confirm an order within recoverWithin.
type recovering struct {
	*surrounding
	lab   *lab.Lab
	unmet error
}

// Heal implements trial.Act.
func (f *recovering) Heal(ctx context.Context) error {
	if err := f.surrounding.Heal(ctx); err != nil {
		return err
	}
	limit, cancel := context.WithTimeout(ctx, recoverWithin)
	defer cancel()
	for i := range f.lab.Orders {
		if err := confirms(limit, f.lab, f.lab.Orders[i].URL()); err != nil {
			f.unmet = fmt.Errorf("%s does not place orders within %s: %w", f.lab.Orders[i].Name(), recoverWithin, err)
			break
		}
	}
	return ctx.Err()
}

// Unmet implements demanding.
func (f *recovering) Unmet() error { return f.unmet }

// leaderCut cuts the replies of the stock services to the order service that reconciles, so it leaves its orders
// unfinished. Another must take the lead and settle them while the fault lasts.
type leaderCut struct {
	lab    *lab.Lab
	leader *lab.Replica
	unmet  error
}

// settledAfter is the maximum age of an unsettled order while the leader is cut off.
const settledAfter = 10 * time.Second

// Arm implements trial.Act.
func (f *leaderCut) Arm(context.Context) error {
	latest := -1
	var since string
	for i, r := range f.lab.Orders {
		log, err := os.ReadFile(r.LogPath())
		if err != nil {
			return fmt.Errorf("find the leader: %w", err)
		}
		for line := range bytes.Lines(log) {
			var entry struct{ Time, Msg string }
			if json.Unmarshal(line, &entry) == nil && entry.Msg == "leading" && entry.Time > since {
				latest, since = i, entry.Time
			}
		}
	}
	if latest < 0 {
		return errors.New("find the leader: no order service leads")
	}
	f.leader = f.lab.Orders[latest]
	return f.leader.EachWire(lab.ToStock, (*lab.Wire).LoseReplies)
}

// Fired implements trial.Act. It has struck once the leader has left an order unfinished.
func (f *leaderCut) Fired(ctx context.Context) (int, error) { return f.older(ctx, 2*stockTimeout) }

// Hold implements trial.Act.
func (*leaderCut) Hold() time.Duration { return settledAfter + 4*time.Second }

// Heal implements trial.Act.
func (f *leaderCut) Heal(ctx context.Context) error {
	n, err := f.older(ctx, settledAfter)
	if n > 0 {
		f.unmet = fmt.Errorf("%d orders are not settled after %s, though another order service reaches the stock", n,
			settledAfter)
	}
	if f.leader != nil {
		err = errors.Join(err, f.leader.EachWire(lab.ToStock, func(w *lab.Wire) error { return w.Mend(ctx) }))
	}
	return err
}

// Unmet implements demanding.
func (f *leaderCut) Unmet() error { return f.unmet }

// older counts the orders that have been PENDING or CANCELLING for longer than age. A client may cancel an order long
// after it was placed.
func (f *leaderCut) older(ctx context.Context, age time.Duration) (n int, err error) {
	since := time.Now().UTC().Add(-age)
	err = f.lab.OrderDB.QueryRowContext(ctx,
		"SELECT COUNT(*) FROM orders WHERE status = 'PENDING' AND created_at < ? OR status = 'CANCELLING' AND updated_at < ?",
		since, since).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count orders that have not ended: %w", err)
	}
	return n, nil
}

// confirms places orders at one order service until one is confirmed or ctx ends.
func confirms(ctx context.Context, l *lab.Lab, url string) error {
	target := l.Target()
	target.OrderURLs = []string{url}
	for {
		h, err := fireOne(ctx, target)
		if err == nil && h.Measure().Confirmed == 1 {
			return nil
		}
		if ctx.Err() != nil {
			return cmp.Or(err, ctx.Err())
		}
		time.Sleep(50 * time.Millisecond) // polls another process
	}
}

// newLong returns the fault of that name, or nil if it is none of Alone.
func newLong(l *lab.Lab, name string, rng *rand.Rand) trial.Act {
	switch name {
	case OrderFrozen:
		return newFrozen(l, orderService, rng)
	case StockFrozen:
		return newFrozen(l, stockService, rng)
	case ZooKeeperFrozen:
		return &recovering{lab: l, surrounding: around(14*time.Second,
			func(context.Context) error { return l.ZooKeeper.Pause() },
			func(context.Context) error { return l.ZooKeeper.Resume() })}
	case ZooKeeperGone:
		return &gone{lab: l, surrounding: around(time.Minute,
			func(context.Context) error { return l.ZooKeeper.Kill() }, l.ZooKeeper.Restart)}
	case LeaderCut:
		return &leaderCut{lab: l}
	}
	return nil
}
