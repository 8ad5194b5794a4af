package zklock

import (
	"os"
	"time"

	"github.com/go-zookeeper/zk"
)

// Option sets one of the With… options of a lock.
type Option func(*options)

type options struct {
	handoffs int
	handoff  time.Duration
	linger   time.Duration
	acl      []zk.ACL
	names    []kind
	owner    Owner
	data     []byte // owner, as it is stored
	hooks    Hooks
}

func optionsOf(opts []Option) options {
	o := options{
		handoffs: 4096,
		handoff:  25 * time.Millisecond,
		linger:   100 * time.Millisecond,
		acl:      zk.WorldACL(zk.PermAll),
		names:    []kind{kindLock},
		owner:    Owner{Host: hostname(), PID: os.Getpid()},
	}
	for _, set := range opts {
		set(&o)
	}
	o.data = o.owner.encode()
	return o
}

// WithHandoff bounds the local hand-off of a Mutex while another process waits: after count
// acquisitions, or once d has passed since it was seen waiting, whichever is first, the lock goes
// to the other process. A holder is not interrupted, so d may be exceeded by one hold. A count of
// 1 turns local hand-off off: every acquisition then queues in ZooKeeper by itself, in one order
// with those of all processes. Default: 4096 and 25 ms.
//
// Several Mutex values on one path in one Session share a queue; the bounds of the one that
// began it hold.
func WithHandoff(count int, d time.Duration) Option {
	return func(o *options) { o.handoffs, o.handoff = count, d }
}

// WithLinger sets for how long a Mutex with local hand-off keeps its place in ZooKeeper when
// nobody in the process wants the lock, so that the next one there gets it at once. Another
// process that asks meanwhile gets the lock as soon as its node is seen, about one request later
// than otherwise. Its TryAcquire is refused, and has the place given up: another try soon after
// succeeds. If the process dies while it lingers, others wait for its session to expire. Zero gives
// the place up at once, and Release then waits for that. Default: 100 ms.
func WithLinger(d time.Duration) Option {
	return func(o *options) { o.linger = d }
}

// WithACL sets who may do what with the lock's nodes and with the parents that it makes. In
// ZooKeeper the parent's ACL decides who may delete its children, so the lock's path should not
// exist with another one. Use zk.AuthACL(zk.PermAll) with WithAuth, or zk.DigestACL.
// Default: everybody may do everything.
func WithACL(acl []zk.ACL) Option {
	return func(o *options) { o.acl = acl }
}

// WithNames sets what the names of a Mutex's nodes hold before their number, so that it shares its
// path with clients that name theirs differently. This Mutex gives own to the nodes that it makes;
// nodes with own or one of further in their names are contenders, and all others are not. Two
// clients exclude each other only if each takes the other's names for contenders. Beside kazoo's
// Lock use one of:
//
//	WithNames("__lock__")           and nothing to set for kazoo
//	WithNames("lock-", "__lock__")  and extra_lock_patterns=["lock-"] for kazoo
//
// The names must be the same for all Mutex values on a path. An empty name, or one with a slash,
// fails each acquisition. Default: "lock-".
func WithNames(own string, further ...string) Option {
	return func(o *options) { o.names = append([]kind{own}, further...) }
}

// WithLabel sets what Inspect shows of the holder or waiter besides its host and process, for
// example the service's name. Default: none.
func WithLabel(label string) Option {
	return func(o *options) { o.owner.Label = label }
}

// WithHooks sets functions to be called for metrics. Default: none.
func WithHooks(h Hooks) Option {
	return func(o *options) { o.hooks = h }
}
