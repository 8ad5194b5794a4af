package zklock

import (
	"time"

	"github.com/go-zookeeper/zk"
)

// askPause is between two times that one session asks for one place.
const askPause = 20 * time.Millisecond

// ask tells the process that keeps its place in dir for its next use that another wants the lock:
// that process watches the children. The node that it sees come is made and removed in one
// transaction, so nothing can be left. ask does not wait for that. While one is under way, another
// has no effect: one is enough for a place.
func (s *Session) ask(dir string) {
	s.mu.Lock()
	_, asking := s.asking[dir]
	s.asking[dir] = struct{}{}
	s.mu.Unlock()
	if asking {
		return
	}
	s.spawn(func() {
		path := dir + "/" + newGUID()
		_, _ = call(s.ctx, s, func() ([]zk.MultiResponse, error) { // who tries again asks again
			return s.conn.Multi(
				&zk.CreateRequest{Path: path, Acl: zk.WorldACL(zk.PermAll), Flags: zk.FlagEphemeral},
				&zk.DeleteRequest{Path: path, Version: -1})
		}, nil)
		timer := time.NewTimer(askPause)
		defer timer.Stop()
		_ = happened(s.ctx, s, timer.C)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.asking, dir)
	})
}
