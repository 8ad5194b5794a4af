package lab

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// ExpiredSessions counts the sessions that ZooKeeper expired since it started.
func (l *Lab) ExpiredSessions(ctx context.Context) (int, error) {
	told, err := l.ZooKeeper.Command(ctx, "mntr")
	if err != nil {
		return 0, fmt.Errorf("count expired sessions: %w", err)
	}
	const name = "zk_stale_sessions_expired"
	for line := range strings.Lines(told) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == name {
			n, err := strconv.ParseFloat(fields[1], 64)
			return int(n), err
		}
	}
	return 0, fmt.Errorf("count expired sessions: mntr has no %s", name)
}
