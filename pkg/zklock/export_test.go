package zklock

// Waiting returns how many wait in the process's queue for the lock on path.
func Waiting(s *Session, path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.queues[path]; q != nil {
		return q.waiting.Len()
	}
	return 0
}

// Pause makes the session over by the clock alone, as after a pause of the process: no timer has fired yet. Resume
// shows that the session is alive.
func Pause(s *Session) (resume func()) {
	life := s.conn.Lifetime()
	timeout := life.Timeout.Swap(0)
	return func() { life.Timeout.Store(timeout) }
}

// Remove removes the node at path, as an acquisition does that fails after it has made it.
func Remove(s *Session, path string) { (&node{s: s, path: path}).remove() }
