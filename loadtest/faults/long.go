package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"orderstock/loadtest/act"
	"orderstock/loadtest/fire"
	"orderstock/loadtest/system"
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

// demanding is a fault with a demand that the databases and the history do not show.
type demanding struct {
	trial.Simple
	// unmet returns an error if the demand was not met. It is called after the heal.
	unmet func() error
}

// newLong returns the fault of that name, or nil if it is none of Alone.
func newLong(l *system.System, name string, rng *rand.Rand) trial.Act {
	switch name {
	case OrderFrozen:
		return newFrozen(l, orderService, rng)
	case StockFrozen:
		return newFrozen(l, stockService, rng)
	case ZooKeeperFrozen:
		return newRecovering(l, act.New(l, act.Action{Action: "pause-server", Target: "zookeeper"}))
	case ZooKeeperGone:
		return newGone(l, act.New(l, act.Action{Action: "kill-server", Target: "zookeeper"}))
	case LeaderCut:
		return newLeaderCut(l)
	}
	return nil
}

// newGone returns the fault whose act stops a server. Orders must keep finishing at 0.8 of the rate before, or more.
func newGone(l *system.System, kill *trial.Simple) *demanding {
	p := pace{orders: l.OrderDB}
	return &demanding{
		Simple: trial.Simple{
			For: time.Minute,
			Do: func(ctx context.Context) error {
				if err := p.measure(ctx); err != nil {
					return err
				}
				if err := p.begin(ctx); err != nil {
					return err
				}
				return kill.Arm(ctx)
			},
			Undo: func(ctx context.Context) error { return errors.Join(p.end(ctx), kill.Heal(ctx)) },
		},
		unmet: func() error {
			return p.unmet(0.8, "%.1f orders per second finished without the server, %.1f before: less than 0.8")
		},
	}
}

// newRecovering returns the fault whose act pauses a server. After the heal, every order service must confirm an order
// within recoverWithin.
func newRecovering(l *system.System, pause *trial.Simple) *demanding {
	var unmet error
	return &demanding{
		Simple: trial.Simple{
			For: 14 * time.Second,
			Do:  pause.Arm,
			Undo: func(ctx context.Context) error {
				if err := pause.Heal(ctx); err != nil {
					return err
				}
				unmet = atOnce(l.Orders, func(r *system.Service) error { return confirms(ctx, l, r) })
				return ctx.Err()
			},
		},
		unmet: func() error { return unmet },
	}
}

// settledAfter is the maximum age of an unsettled order while the leader is cut off.
const settledAfter = 10 * time.Second

// newLeaderCut returns the fault that cuts the replies of the stock services to the order service that reconciles, so
// it leaves its orders unfinished. It has struck once there is such an order. Another must take the lead and settle
// them while the fault lasts.
func newLeaderCut(l *system.System) *demanding {
	cut := &trial.Simple{} // until the leader is known
	var unmet error
	return &demanding{
		Simple: trial.Simple{
			For: settledAfter + 4*time.Second,
			Do: func(ctx context.Context) error {
				leader, err := leaderOf(l)
				if err != nil {
					return err
				}
				cut = act.New(l, act.Action{Action: "lose-replies", Target: leader, Wire: system.ToStock})
				return cut.Arm(ctx)
			},
			Count: func(ctx context.Context) (int, error) { return older(ctx, l, 2*stockTimeout) },
			Undo: func(ctx context.Context) error {
				n, err := older(ctx, l, settledAfter)
				if n > 0 {
					unmet = fmt.Errorf("%d orders are not settled after %s, though another order service reaches the stock", n,
						settledAfter)
				}
				return errors.Join(err, cut.Heal(ctx))
			},
		},
		unmet: func() error { return unmet },
	}
}

// leaderOf returns the name of the order service that was the last to lead, by the services' logs.
func leaderOf(l *system.System) (leader string, err error) {
	since := ""
	for _, r := range l.Orders {
		log, err := os.ReadFile(r.LogPath())
		if err != nil {
			return "", fmt.Errorf("find the leader: %w", err)
		}
		for line := range bytes.Lines(log) {
			var entry struct{ Time, Msg string }
			if json.Unmarshal(line, &entry) == nil && entry.Msg == "leading" && entry.Time > since {
				leader, since = r.Name(), entry.Time
			}
		}
	}
	if leader == "" {
		return "", errors.New("find the leader: no order service leads")
	}
	return leader, nil
}

// older counts the orders that have been PENDING or CANCELLING for longer than age. A client may cancel an order long
// after it was placed.
func older(ctx context.Context, l *system.System, age time.Duration) (n int, err error) {
	since := time.Now().UTC().Add(-age)
	err = l.OrderDB.QueryRowContext(ctx,
		"SELECT COUNT(*) FROM orders WHERE status = 'PENDING' AND created_at < ? OR status = 'CANCELLING' AND updated_at < ?",
		since, since).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count orders that have not ended: %w", err)
	}
	return n, nil
}

// confirms places orders at one order service until one is confirmed, for at most recoverWithin.
func confirms(ctx context.Context, l *system.System, r *system.Service) error {
	target := l.Target()
	target.OrderURLs = []string{r.URL()}
	return await(ctx, recoverWithin, "for an order of "+r.Name(), func(ctx context.Context) error {
		h, err := fireOne(ctx, target)
		if err == nil && h.Measure().Confirmed == 0 {
			err = fmt.Errorf("not confirmed: %+v", h.Calls)
		}
		return err
	})
}
