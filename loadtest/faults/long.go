package faults

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"orderstock/loadtest/act"
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

// gone stops a server. Orders must keep finishing at 0.8 of the rate before, or more.
type gone struct {
	*act.Act
	pace
}

// Arm implements trial.Act.
func (f *gone) Arm(ctx context.Context) error {
	if err := f.measure(ctx); err != nil {
		return err
	}
	if err := f.begin(ctx); err != nil {
		return err
	}
	return f.Act.Arm(ctx)
}

// Heal implements trial.Act.
func (f *gone) Heal(ctx context.Context) error { return errors.Join(f.end(ctx), f.Act.Heal(ctx)) }

// Unmet implements demanding.
func (f *gone) Unmet() error {
	return f.unmet(0.8, "%.1f orders per second finished without the server, %.1f before: less than 0.8")
}

// recovering is a fault around the system. After the heal, every order service must confirm an order within
// recoverWithin.
type recovering struct {
	*act.Act
	lab   *lab.Lab
	unmet error
}

// Heal implements trial.Act.
func (f *recovering) Heal(ctx context.Context) error {
	if err := f.Act.Heal(ctx); err != nil {
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
	lab   *lab.Lab
	cut   *act.Act // nil until the leader is known
	unmet error
}

// settledAfter is the maximum age of an unsettled order while the leader is cut off.
const settledAfter = 10 * time.Second

// Arm implements trial.Act.
func (f *leaderCut) Arm(ctx context.Context) error {
	var leader, since string
	for _, r := range f.lab.Orders {
		log, err := os.ReadFile(r.LogPath())
		if err != nil {
			return fmt.Errorf("find the leader: %w", err)
		}
		for line := range bytes.Lines(log) {
			var entry struct{ Time, Msg string }
			if json.Unmarshal(line, &entry) == nil && entry.Msg == "leading" && entry.Time > since {
				leader, since = r.Name(), entry.Time
			}
		}
	}
	if leader == "" {
		return errors.New("find the leader: no order service leads")
	}
	f.cut = act.New(f.lab, act.Action{Action: "lose-replies", Target: leader, Wire: lab.ToStock}, 0)
	return f.cut.Arm(ctx)
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
	if f.cut != nil {
		err = errors.Join(err, f.cut.Heal(ctx))
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
		pause := act.Action{Action: "pause-server", Target: "zookeeper"}
		return &recovering{lab: l, Act: act.New(l, pause, 14*time.Second)}
	case ZooKeeperGone:
		kill := act.Action{Action: "kill-server", Target: "zookeeper"}
		return &gone{act.New(l, kill, time.Minute), pace{orders: l.OrderDB}}
	case LeaderCut:
		return &leaderCut{lab: l}
	}
	return nil
}
