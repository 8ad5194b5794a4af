package coordination

import (
	"context"
	"errors"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"orderstock/pkg/retry"
	"orderstock/pkg/zklock"
)

// Announce announces a replica of the service that listens at addr, for Discover to find. If addr names no host, the
// announced one is the address from which this machine reaches the session's server. The announcement proves that the
// replica knows the tokens. It ends when ctx ends or stop is called. Stop waits until it is withdrawn.
func (s *Session) Announce(
	ctx context.Context, service, addr string, https bool, tokens ...string,
) (stop func()) {
	return s.begin(ctx, func(ctx context.Context, session *zklock.Session) {
		var once sync.Once
		reachable, err := retry.Do(ctx, pauses, func() (string, error) {
			reachable, err := Reachable(ctx, addr, session.Conn().Server())
			if err != nil && ctx.Err() == nil {
				once.Do(func() { s.cfg.Log.Error("not announced yet: set ADVERTISE_ADDR", "error", err) })
			}
			return reachable, err
		})
		if err != nil {
			return // ctx has ended
		}
		if https {
			reachable = HTTPS(reachable)
		}
		Announce(ctx, session, Dir(s.cfg.Root, service), reachable, tokens, s.cfg.Log,
			s.announced.Store)
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

// Discover calls changed with the base addresses of the service's replicas that are announced on these terms, and
// again whenever they change, until ctx ends or stop is called, which waits for the last call. Announcements that it
// ignores are logged and counted; terms.Ignored is not used.
func (s *Session) Discover(
	ctx context.Context, service string, terms Terms, changed func(urls []string),
) (stop func()) {
	ignored := promauto.With(s.cfg.Metrics).NewCounter(prometheus.CounterOpts{
		Name: "zookeeper_announcements_ignored_total", ConstLabels: prometheus.Labels{"service": service},
		Help: "Announcements of replicas that were not followed: unproved, or of plain HTTP where HTTPS is expected.",
	})
	terms.Ignored = func(node string, why error) {
		ignored.Inc()
		s.cfg.Log.Warn("announcement ignored", "node", node, "error", why.Error())
	}
	return s.begin(ctx, func(ctx context.Context, session *zklock.Session) {
		Watch(ctx, session, Dir(s.cfg.Root, service), terms, func(addrs []string) {
			urls := make([]string, len(addrs))
			for i, addr := range addrs {
				urls[i] = URL(addr)
			}
			changed(urls)
		})
	})
}
