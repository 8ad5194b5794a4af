package zklock

import "math"

// A process that takes an exclusive lock again which it was the only one to want need not look at
// the queue: the answer to its create shows that nobody came in between. The server numbers the
// children of a parent by one counter, which only creates move. A node that was first in the queue
// when it had number n, and is deleted, leaves nobody with n or less; so n+1 is first.
//
// That is of one parent. A parent that was removed and made again counts from 0, and to make n+1
// its next number takes two transactions for the parent and n+1 for the nodes before. ZooKeeper
// numbers its transactions by one, and those of another leader far apart: where fewer went by
// between the delete and the create, it is the same parent still. This takes for granted that nobody
// makes places in bulk, by a multi request; no lock recipe does.

// leftPlace is the place in a queue that this session has left: it was the first, and nobody waited
// behind it when it came.
type leftPlace struct {
	seq  int32
	zxid int64 // of the delete
}

// mostLeft bounds what a session remembers of the locks that it has held.
const mostLeft = 4096

// leave notes that the node, which held its lock, was deleted by the transaction.
func (s *Session) leave(n *node, zxid int64) {
	place, ok := parseMember(n.name(), allKinds...)
	if !ok || zxid == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.left) >= mostLeft {
		clear(s.left)
	}
	s.left[n.dir] = leftPlace{place.Seq, zxid}
}

// lastLeft returns the place that the session left last in the line, once.
func (s *Session) lastLeft(l line) (leftPlace, bool) {
	if !l.exclusive {
		return leftPlace{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	place, ok := s.left[l.dir]
	delete(s.left, l.dir)
	return place, ok
}

// follows says that the node came next after the place, and so is the first in the queue.
func (n *node) follows(last leftPlace) bool {
	place, ok := parseMember(n.name(), allKinds...)
	return ok && n.lease != nil && last.seq >= 0 && place.Seq-1 == last.seq && place.Seq < math.MaxInt32 &&
		n.czxid > last.zxid && n.czxid-last.zxid <= int64(last.seq)
}
