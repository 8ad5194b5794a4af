package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"orderstock/pkg/discovery"
	"orderstock/pkg/retry"
	"orderstock/pkg/snowid"
	"orderstock/pkg/zklock"
)

// coordination holds the service's session with ZooKeeper, its ids, and its part
// in the election of the reconciler. It begins in the background, so that the
// service starts, and answers requests that need no ids, while ZooKeeper is away.
type coordination struct {
	root string
	log  *slog.Logger

	stop  context.CancelFunc
	begun sync.WaitGroup

	connected chan struct{} // closed once session is there
	started   chan struct{} // closed once ids are, too
	session   *zklock.Session
	ids       atomic.Pointer[snowid.Generator]
}

func startCoordination(ctx context.Context, cfg settings, log *slog.Logger) *coordination {
	ctx, stop := context.WithCancel(ctx)
	c := &coordination{root: cfg.ZooKeeperRoot, log: log, stop: stop, connected: make(chan struct{}), started: make(chan struct{})}
	c.begun.Go(func() {
		again := retry.Policy{First: 500 * time.Millisecond, Max: 10 * time.Second}
		session, err := retry.Do(ctx, again, func() (*zklock.Session, error) {
			session, err := zklock.Connect(ctx, cfg.ZooKeeperAddrs, zklock.WithSessionTimeout(cfg.SessionTimeout),
				zklock.WithAuth("digest", []byte(cfg.ZooKeeperAuth)), zklock.WithLogger(log))
			if err != nil && ctx.Err() == nil {
				log.Warn("no ZooKeeper session", "error", err.Error())
			}
			return session, err
		})
		if err != nil {
			return
		}
		c.session = session
		close(c.connected)
		ids, err := snowid.Lease(ctx, session.Conn(), c.root+"/order-ids", snowid.WithACL(session.ACL()))
		if err != nil {
			if ctx.Err() == nil {
				log.Error("no node number for ids", "error", err.Error())
			}
			return
		}
		number, _ := ids.Number()
		log.Info("ids leased", "node", number)
		c.ids.Store(ids)
		close(c.started)
	})
	return c
}

// Next implements order.IDs.
func (c *coordination) Next() (int64, error) {
	ids := c.ids.Load()
	if ids == nil {
		return 0, snowid.ErrNoLease
	}
	return ids.Next()
}

// ready is what /readyz asks.
func (c *coordination) ready(context.Context) error {
	_, err := c.Next()
	return err
}

// lead runs work under a context that lasts while this process is the one of
// all replicas to do it, again and again. Work that fails gives the lead up;
// the process rests then before it stands again, so that others have it
// meanwhile. It ends with ctx or by the function that it returns, which also
// waits for that.
func (c *coordination) lead(ctx context.Context, name string, rest time.Duration,
	work func(context.Context) error,
) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var working sync.WaitGroup
	working.Go(func() {
		select {
		case <-c.started:
		case <-ctx.Done():
			return
		}
		election := zklock.NewElection(c.session, c.root+"/"+name, zklock.WithLabel("order-service"))
		for ctx.Err() == nil {
			if err := c.leadOnce(ctx, election, work); err != nil && ctx.Err() == nil {
				c.log.Warn("not leading", "what", name, "error", err.Error())
				select {
				case <-time.After(rest):
				case <-ctx.Done():
				}
			}
		}
	})
	return func() {
		cancel()
		working.Wait()
	}
}

// discover calls changed with the addresses of the service's replicas, and again
// whenever they change, until ctx ends or the function is called that it returns.
func (c *coordination) discover(ctx context.Context, service string, changed func(addrs []string)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-c.connected:
			discovery.Watch(ctx, c.session, discovery.Dir(c.root, service), changed)
		case <-ctx.Done():
		}
	})
	return func() {
		cancel()
		watching.Wait()
	}
}

// leadOnce works for one term of office: from the election to the loss of the lead, the end of the
// work, or the end of ctx.
func (c *coordination) leadOnce(ctx context.Context, election *zklock.Election,
	work func(context.Context) error,
) error {
	leadership, err := election.Campaign(ctx, "")
	if err != nil {
		return fmt.Errorf("take the lead: %w", err)
	}
	c.log.Info("leading", "path", election.Path(), "token", leadership.Token().String())
	leading, cancel := context.WithCancel(leadership.Context())
	defer cancel()
	defer context.AfterFunc(ctx, cancel)() // the leadership's context does not end with ctx by itself
	failure := work(leading)
	resign, done := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer done()
	err = leadership.Resign(resign)
	if errors.Is(err, zklock.ErrLost) {
		err = nil
	}
	if err := errors.Join(failure, err); err != nil {
		return fmt.Errorf("give up the lead: %w", err)
	}
	return nil
}

// close gives the node number back and ends the session.
func (c *coordination) close(ctx context.Context) error {
	c.stop()
	c.begun.Wait()
	var err error
	if ids := c.ids.Load(); ids != nil {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		err = ids.Close(ctx)
	}
	if c.session != nil {
		err = errors.Join(err, c.session.Close())
	}
	return err
}
