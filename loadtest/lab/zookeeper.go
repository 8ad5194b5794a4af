package lab

import (
	"context"
	"fmt"
	"strconv"
	"strings"
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
	told, err := l.ZooKeeper.Command(ctx, "mntr")
	if err != nil {
		return 0, fmt.Errorf("count sessions: %w", err)
	}
	for line := range strings.Lines(told) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == name {
			n, err := strconv.ParseFloat(fields[1], 64)
			return int(n), err
		}
	}
	return 0, fmt.Errorf("count sessions: mntr has no %s", name)
}
