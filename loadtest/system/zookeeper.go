package system

import (
	"context"
	"fmt"
)

// ExpiredSessions counts the sessions that ZooKeeper has expired since it started.
func (s *System) ExpiredSessions(ctx context.Context) (int, error) {
	counters, err := s.ZooKeeper.Monitor(ctx)
	if err != nil {
		return 0, fmt.Errorf("count sessions: %w", err)
	}
	const name = "zk_stale_sessions_expired"
	n, ok := counters[name]
	if !ok {
		return 0, fmt.Errorf("count sessions: mntr has no %s", name)
	}
	return int(n), nil
}
