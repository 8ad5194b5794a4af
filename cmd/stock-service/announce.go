package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"orderstock/pkg/discovery"
	"orderstock/pkg/retry"
	"orderstock/pkg/zklock"
)

// announcement makes the service known to the order services, in the background, so
// that it serves while ZooKeeper is away. Its session is not that of the locks,
// which not every strategy has.
type announcement struct {
	cfg  settings
	log  *slog.Logger
	done sync.WaitGroup
}

// begin announces the service, which listens at addr, until ctx ends.
func (a *announcement) begin(ctx context.Context, addr string) {
	a.done.Go(func() {
		session, err := retry.Do(ctx, retry.Policy{First: 500 * time.Millisecond, Max: 5 * time.Second}, func() (*zklock.Session, error) {
			return zklock.Connect(ctx, a.cfg.ZooKeeperAddrs, zklock.WithSessionTimeout(a.cfg.SessionTimeout),
				zklock.WithAuth("digest", []byte(a.cfg.ZooKeeperAuth)), zklock.WithLogger(a.log))
		})
		if err != nil {
			return // the service is stopped
		}
		defer func() {
			if err := session.Close(); err != nil {
				a.log.Warn("announcement's session not closed", "error", err)
			}
		}()
		if a.cfg.AdvertiseAddr != "" {
			addr = a.cfg.AdvertiseAddr
		} else if addr, err = discovery.Reachable(ctx, addr, a.cfg.ZooKeeperAddrs[0]); err != nil {
			a.log.Error("not announced: set ADVERTISE_ADDR", "error", err)
			return
		}
		if a.cfg.TLSCert != "" {
			addr = discovery.HTTPS(addr)
		}
		discovery.Announce(ctx, session, discovery.Dir(a.cfg.ZooKeeperRoot, "stock"), addr, a.log)
	})
}

// wait returns when the announcement is withdrawn.
func (a *announcement) wait() { a.done.Wait() }
