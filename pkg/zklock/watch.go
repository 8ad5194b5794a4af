package zklock

import (
	"context"

	"github.com/go-zookeeper/zk"
)

// watch is one watch on a node that exists. All of a Session that care for the node share it: the
// client library cannot remove a watch, so each that is set stays until the node goes, and a
// thousand waiters that gave up would leave a thousand.
type watch struct {
	armed chan struct{} // closed when stat or err is known
	stat  zk.Stat
	err   error // why there is no watch; zk.ErrNoNode where there is no node
	fired chan struct{}
	event zk.Event // valid after fired
	// then is called when it has fired, by the goroutine that kept it. Guarded by Session.mu.
	then []func(*watch)
}

// watch returns the watch on the node path, made now or before. It does not wait.
func (s *Session) watch(path string) *watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.watches[path]
	if w != nil {
		return w
	}
	w = &watch{armed: make(chan struct{}), fired: make(chan struct{})}
	if s.closed {
		w.err = ErrSessionClosed
		close(w.armed)
		return w
	}
	s.watches[path] = w
	s.requests.Add(1)
	s.background.Go(func() { s.keepWatch(path, w) })
	return w
}

// keepWatch sets the watch, with GetW as ExistsW would leave a watch on a node that is not there,
// and waits for its event.
func (s *Session) keepWatch(path string, w *watch) {
	_, stat, events, err := s.conn.GetW(path)
	s.requests.Done()
	if err != nil {
		s.mu.Lock()
		delete(s.watches, path)
		s.mu.Unlock()
		w.err = err
		close(w.armed)
		return
	}
	w.stat = *stat
	close(w.armed)
	select {
	case w.event = <-events:
	case <-s.ctx.Done():
	}
	s.mu.Lock()
	delete(s.watches, path)
	close(w.fired)
	then := w.then
	s.mu.Unlock()
	for _, f := range then {
		f(w)
	}
}

// whenFired has f called when the watch has fired: in the background, without a goroutine that
// waits for it.
func (s *Session) whenFired(w *watch, f func(*watch)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-w.fired:
		if !s.closed {
			s.background.Go(func() { f(w) })
		}
	default:
		w.then = append(w.then, f)
	}
}

// closed says that c is closed, or has something to receive.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// wait waits until the watch is set, or cannot be.
func (w *watch) wait(ctx context.Context, s *Session) error {
	select {
	case <-w.armed:
		return w.err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.ctx.Done():
		return ErrSessionClosed
	}
}
