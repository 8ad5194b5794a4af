package zklock

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock/internal/conn"
)

// SessionOption sets one of the With… options of Connect and Wrap.
type SessionOption func(*conn.Options)

func sessionOptionsOf(opts []SessionOption) conn.Options {
	o := conn.Options{Timeout: 10 * time.Second, Log: slog.New(slog.DiscardHandler)}
	for _, set := range opts {
		set(&o)
	}
	return o
}

// WithSessionTimeout sets the session timeout to ask for; the server may answer with another, see
// Session.Timeout. It is how long a lock outlives a holder that died, and how long a holder may be
// cut off without losing its locks. Default: 10 s. For Connect only.
func WithSessionTimeout(d time.Duration) SessionOption {
	return func(o *conn.Options) { o.Timeout = d }
}

// WithDialer sets how to connect, for TLS or a proxy. Default: net.DialTimeout. For Connect only.
func WithDialer(dial zk.Dialer) SessionOption {
	return func(o *conn.Options) { o.Dial = dial }
}

// WithLogger sets the logger for lost sessions and for the client library's own messages.
// Default: none.
func WithLogger(log *slog.Logger) SessionOption {
	return func(o *conn.Options) { o.Log = log }
}

// WithAuth authenticates the session, for example with the scheme "digest" and the secret
// "user:password". Only sessions with the same secret can then use the session's locks, unless
// WithACL says otherwise. It may be given repeatedly. An empty secret adds nothing. Default: none.
func WithAuth(scheme string, secret []byte) SessionOption {
	return func(o *conn.Options) {
		if len(secret) > 0 {
			o.Auth = append(o.Auth, conn.Auth{Scheme: scheme, Secret: secret})
		}
	}
}

// Option sets one of the With… options of a lock.
type Option func(*options)

type options struct {
	handoffs    int
	handoff     time.Duration
	watchParent bool
	acl         []zk.ACL
	names       []kind
	owner       Owner
	data        []byte // of a node: owner, encoded
	invalid     error  // with which all acquisitions fail
	hooks       Hooks
}

func optionsOf(s *Session, path string, opts []Option) options {
	o := options{
		handoffs: 4096,
		handoff:  25 * time.Millisecond,
		acl:      s.ACL(),
		names:    []kind{lockKind},
		owner:    Owner{Host: hostname(), PID: os.Getpid()},
	}
	for _, set := range opts {
		set(&o)
	}
	o.data, o.invalid = o.owner.encode(), o.check(path)
	return o
}

// maxLabel bounds a label, in bytes. A server cuts the connection of a client whose request is longer than a
// megabyte.
const maxLabel = 64 << 10

// check returns an error for what ZooKeeper would not take, or would take for something else.
func (o *options) check(path string) error {
	parts := strings.Split(path, "/")
	if len(parts) < 2 || parts[0] != "" || slices.ContainsFunc(parts[1:], func(part string) bool {
		return part == "" || part == "." || part == ".." || strings.Contains(part, "\x00")
	}) {
		return fmt.Errorf("lock path %q: want an absolute path below the root, such as /locks/stock", path)
	}
	for _, name := range o.names {
		if name == "" || strings.Contains(name, "/") {
			return fmt.Errorf("lock name %q is empty or holds a slash: give WithNames another", name)
		}
	}
	if len(o.owner.Label) > maxLabel {
		return fmt.Errorf("label of %d bytes: give WithLabel at most %d", len(o.owner.Label), maxLabel)
	}
	return nil
}

var hostname = sync.OnceValue(func() string {
	name, _ := os.Hostname() // only for people to read
	return name
})

// WithHandoff bounds the local hand-off of a Mutex while another process waits: the lock goes to the
// other process after count acquisitions, or when d has passed since it was seen waiting, if that is
// earlier. A holder is not interrupted, so d may be exceeded by one hold. A count of 1 turns local
// hand-off off: then each acquisition queues in ZooKeeper by itself, in one order for all processes.
// Default: 4096 and 25 ms.
//
// All Mutex values on one path of a Session share a queue, with the options of the value that began
// it.
func WithHandoff(count int, d time.Duration) Option {
	return func(o *options) { o.handoffs, o.handoff = count, d }
}

// WithACL sets the ACL of the lock's nodes and of the parents that it makes. In ZooKeeper the
// parent's ACL decides who may delete its children, so the lock's path should not exist with another
// one. Default: the session's ACL, see Session.ACL.
func WithACL(acl []zk.ACL) Option {
	return func(o *options) { o.acl = acl }
}

// WithNames sets what stands before the number in the names of a Mutex's nodes, so that the Mutex can
// share its path with clients that name theirs differently. This Mutex puts own into the names of the
// nodes that it makes. Nodes with own or one of further in their names are contenders, and all others
// are not. Two clients exclude each other only if each counts the other's nodes as contenders. With
// kazoo's Lock use one of:
//
//	WithNames("__lock__")           and nothing to set for kazoo
//	WithNames("lock-", "__lock__")  and extra_lock_patterns=["lock-"] for kazoo
//
// The names must be the same for all Mutex values on a path. With an empty name, or one with a
// slash, each acquisition fails. Default: "lock-".
func WithNames(own string, further ...string) Option {
	return func(o *options) { o.names = append([]kind{own}, further...) }
}

// WithParentWatch makes each waiter of a Mutex or RWMutex watch the lock's path instead of its
// predecessor, as the first published forms of these locks do: each release and each arrival wakes all
// waiters, which then list the queue (the herd effect). It is there to be measured. Local hand-off does
// not change it: the process still has one waiter in ZooKeeper.
func WithParentWatch() Option {
	return func(o *options) { o.watchParent = true }
}

// WithLabel sets a label that Inspect shows with the holder's or waiter's host and process, for
// example the service's name. Default: none.
func WithLabel(label string) Option {
	return func(o *options) { o.owner.Label = label }
}

// WithHooks sets functions to be called for metrics. Default: none.
func WithHooks(h Hooks) Option {
	return func(o *options) { o.hooks = h }
}

// Hooks are called as a lock is used, for metrics. Any of them may be nil. They are called
// synchronously and by many goroutines at once, so they must be quick and safe for concurrent use.
type Hooks struct {
	// Woken is called each time that a waiter in ZooKeeper's queue is woken by the end of its
	// predecessor: once for each release. With WithParentWatch, and for the waiter of a semaphore,
	// it is called for each change of the queue.
	Woken func(path string)
	// Held is called at the first Release of each handle with how long it was held.
	Held func(path string, d time.Duration)
	// Lost is called once for each handle that was lost while held, and not for Session.Close.
	Lost func(path string, cause error)
	// Orphaned is called for each queue node that could not be removed at once, when it is known to
	// be gone: with its path, or, if that was never known, the parent's path and the GUID.
	Orphaned func(node string)
	// HandedOver is called for each grant of a Mutex with local hand-off. local says that the lock
	// came from a holder in this process, without ZooKeeper.
	HandedOver func(path string, local bool)
}

func (o *options) woken(path string) {
	if o.hooks.Woken != nil {
		o.hooks.Woken(path)
	}
}
