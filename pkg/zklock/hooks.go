package zklock

import "time"

// Hooks are called as a lock is used, for metrics. Any of them may be nil. They are called
// synchronously and by many goroutines at once, so they must be quick and safe for that.
type Hooks struct {
	// Waited is called at the end of each acquisition with how long it took, and with the error
	// that it returned.
	Waited func(path string, d time.Duration, err error)
	// Woken is called each time a waiter in ZooKeeper's queue is woken by the end of the one ahead
	// of it: once for each release.
	Woken func(path string)
	// Held is called at the first Release of each handle with how long it was held.
	Held func(path string, d time.Duration)
	// Lost is called once for each handle that was lost while held.
	Lost func(path string, cause error)
	// Orphaned is called for each node that its acquisition could not remove in passing, once it
	// is known to be gone: with the path of the node, or of its parent and the GUID.
	Orphaned func(node string)
	// HandedOver is called for each grant of a Mutex with local hand-off: local says that the lock
	// came from a holder in this process, without ZooKeeper.
	HandedOver func(path string, local bool)
}

func (h Hooks) waited(path string, since instant, err error) {
	if h.Waited != nil {
		h.Waited(path, time.Duration(now()-since), err)
	}
}

func (h Hooks) woken(path string) {
	if h.Woken != nil {
		h.Woken(path)
	}
}

func (h Hooks) held(path string, since instant) {
	if h.Held != nil {
		h.Held(path, time.Duration(now()-since))
	}
}

func (h Hooks) lost(path string, cause error) {
	if h.Lost != nil {
		h.Lost(path, cause)
	}
}

func (h Hooks) orphaned(node string) {
	if h.Orphaned != nil {
		h.Orphaned(node)
	}
}

func (h Hooks) handedOver(path string, local bool) {
	if h.HandedOver != nil {
		h.HandedOver(path, local)
	}
}
