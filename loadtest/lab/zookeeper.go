package lab

import (
	"context"
	"fmt"
)

// ExpiredSessions counts the sessions that ZooKeeper has expired since it started.
func (l *Lab) ExpiredSessions(ctx context.Context) (int, error) {
	return l.monitored(ctx, "zk_stale_sessions_expired")
}

// OpenSessions counts the sessions that ZooKeeper has not expired, including those left by dead processes.
func (l *Lab) OpenSessions(ctx context.Context) (int, error) {
	return l.monitored(ctx, "zk_global_sessions")
}

// monitored returns one of ZooKeeper's counters.
func (l *Lab) monitored(ctx context.Context, name string) (int, error) {
	counters, err := l.ZooKeeper.Monitor(ctx)
	if err != nil {
		return 0, fmt.Errorf("count sessions: %w", err)
	}
	n, ok := counters[name]
	if !ok {
		return 0, fmt.Errorf("count sessions: mntr has no %s", name)
	}
	return int(n), nil
}
