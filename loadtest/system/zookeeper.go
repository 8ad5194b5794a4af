package system

import (
	"context"
	"fmt"
)

// ExpiredSessions counts the sessions that ZooKeeper has expired since it started.
func (s *System) ExpiredSessions(ctx context.Context) (int, error) {
	return s.monitored(ctx, "zk_stale_sessions_expired")
}

// OpenSessions counts the sessions that ZooKeeper has not expired, including those left by dead processes.
func (s *System) OpenSessions(ctx context.Context) (int, error) {
	return s.monitored(ctx, "zk_global_sessions")
}

// monitored returns one of ZooKeeper's counters.
func (s *System) monitored(ctx context.Context, name string) (int, error) {
	counters, err := s.ZooKeeper.Monitor(ctx)
	if err != nil {
		return 0, fmt.Errorf("count sessions: %w", err)
	}
	n, ok := counters[name]
	if !ok {
		return 0, fmt.Errorf("count sessions: mntr has no %s", name)
	}
	return int(n), nil
}
