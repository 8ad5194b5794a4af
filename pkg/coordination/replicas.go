package coordination

import (
	"context"
	"errors"
	"sync"

	"orderstock/pkg/discovery"
	"orderstock/pkg/retry"
	"orderstock/pkg/zklock"
)

// Announce announces a replica of the service that listens at addr, for Discover to find. If addr names no host, the
// announced one is the address from which this machine reaches the session's server. The announcement ends when ctx
// ends or stop is called. Stop waits until it is withdrawn.
func (s *Session) Announce(ctx context.Context, service, addr string, https bool) (stop func()) {
	return s.begin(ctx, func(ctx context.Context, session *zklock.Session) {
		var once sync.Once
		reachable, err := retry.Do(ctx, pauses, func() (string, error) {
			reachable, err := discovery.Reachable(ctx, addr, session.Conn().Server())
			if err != nil && ctx.Err() == nil {
				once.Do(func() { s.cfg.Log.Error("not announced yet: set ADVERTISE_ADDR", "error", err) })
			}
			return reachable, err
		})
		if err != nil {
			return // ctx has ended
		}
		if https {
			reachable = discovery.HTTPS(reachable)
		}
		discovery.Announce(ctx, session, discovery.Dir(s.cfg.Root, service), reachable, s.cfg.Log, s.announced.Store)
	})
}

// Announced returns nil once a replica is announced, also while ZooKeeper is away afterwards. It returns an error
// before, and while the announcement is found to be missing.
func (s *Session) Announced(context.Context) error {
	if !s.announced.Load() {
		return errors.New("not announced in zookeeper: order services that start now do not find this replica")
	}
	return nil
}

// Discover calls changed with the base addresses of the service's replicas, and again whenever they change, until
// ctx ends or stop is called, which waits for the last call.
func (s *Session) Discover(ctx context.Context, service string, changed func(urls []string)) (stop func()) {
	return s.begin(ctx, func(ctx context.Context, session *zklock.Session) {
		discovery.Watch(ctx, session, discovery.Dir(s.cfg.Root, service), func(addrs []string) {
			urls := make([]string, len(addrs))
			for i, addr := range addrs {
				urls[i] = discovery.URL(addr)
			}
			changed(urls)
		})
	})
}
