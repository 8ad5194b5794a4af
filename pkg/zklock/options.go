package zklock

import (
	"cmp"
	"crypto/tls"
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

// SessionOption is an option of Connect and Wrap.
type SessionOption interface {
	ConnectOption
	setSession(o *sessionOptions)
}

// ConnectOption is an option of Connect. Each SessionOption is one.
type ConnectOption interface{ setConnect(o *sessionOptions) }

type sessionOptions struct {
	conn.Options
	namespace string
}

type (
	sessionOption func(*sessionOptions)
	connectOption func(*sessionOptions)
)

func (set sessionOption) setSession(o *sessionOptions) { set(o) }
func (set sessionOption) setConnect(o *sessionOptions) { set(o) }
func (set connectOption) setConnect(o *sessionOptions) { set(o) }

func sessionOptionsOf[O any](opts []O, set func(O, *sessionOptions)) sessionOptions {
	o := sessionOptions{Options: conn.Options{Timeout: 10 * time.Second, Log: slog.Default()}}
	for _, opt := range opts {
		set(opt, &o)
	}
	return o
}

// WithSessionTimeout sets the session timeout to ask for; the server may answer with another, see
// Session.Timeout. It is how long a lock outlives a holder that died, and how long a holder may be
// cut off without losing its locks. Default: 10 s.
func WithSessionTimeout(d time.Duration) ConnectOption {
	return connectOption(func(o *sessionOptions) { o.Timeout = d })
}

// WithDialer sets how to connect, for example through a proxy. Default: net.DialTimeout.
func WithDialer(dial zk.Dialer) ConnectOption {
	return connectOption(func(o *sessionOptions) { o.Dial = dial })
}

// WithTLS has the session speak TLS, on the connections of the dialer. A server's certificate must name the host that
// Connect was given, or config's ServerName. ZooKeeper calls the port for it secureClientPort. Default: no TLS.
func WithTLS(config *tls.Config) ConnectOption {
	return connectOption(func(o *sessionOptions) { o.TLS = config })
}

// WithNamespace puts a path, such as "shop", before the path of each lock: services with different namespaces share no
// lock. It stands behind the path in a connect string, if that has one. Default: none.
func WithNamespace(namespace string) SessionOption {
	return sessionOption(func(o *sessionOptions) { o.namespace = namespace })
}

// WithLogger sets the logger for lost sessions, for trouble with the connection, and, with the level debug, for the
// client library's own messages. Default, also for nil: slog.Default.
func WithLogger(log *slog.Logger) SessionOption {
	return sessionOption(func(o *sessionOptions) { o.Log = cmp.Or(log, slog.Default()) })
}

// WithAuth authenticates the session, for example with the scheme "digest" and the secret
// "user:password". Only sessions with the same secret can then use the session's locks, unless
// WithACL says otherwise. It may be given repeatedly. An empty secret adds nothing. Default: none.
func WithAuth(scheme string, secret []byte) SessionOption {
	return sessionOption(func(o *sessionOptions) {
		if len(secret) > 0 {
			o.Auth = append(o.Auth, conn.Auth{Scheme: scheme, Secret: secret})
		}
	})
}

// Option is an option of every kind of lock.
type Option interface {
	MutexOption
	setLock(o *options)
}

// MutexOption is an option of a Mutex and a ReentrantMutex. Each Option is one.
type MutexOption interface{ setMutex(o *options) }

type (
	lockOption  func(*options)
	mutexOption func(*options)
)

func (set lockOption) setLock(o *options)   { set(o) }
func (set lockOption) setMutex(o *options)  { set(o) }
func (set mutexOption) setMutex(o *options) { set(o) }

type options struct {
	handoffs int
	handoff  time.Duration
	acl      []zk.ACL
	names    []kind
	owner    Owner
	data     []byte // of a node: owner, encoded
	invalid  error  // with which all acquisitions fail
	hooks    Hooks
}

func optionsOf[O any](s *Session, opts []O, set func(O, *options)) options {
	o := options{
		handoffs: 4096,
		handoff:  25 * time.Millisecond,
		acl:      s.ACL(),
		names:    []kind{lockKind},
		owner:    Owner{Host: hostname(), PID: os.Getpid()},
	}
	for _, opt := range opts {
		set(opt, &o)
	}
	return o
}

// maxLabel bounds a label, in bytes. A server cuts the connection of a client whose request is longer than a megabyte.
const maxLabel = 64 << 10

// check returns an error for what ZooKeeper would not take, or would take for something else.
func (o *options) check(path string) error {
	if !validPath(path) {
		return fmt.Errorf("lock path %q: want an absolute path below the root, such as /locks/stock", path)
	}
	for _, name := range o.names {
		if name == "" || strings.Contains(name, "/") {
			return fmt.Errorf("lock name %q is empty or holds a slash: give WithNames another", name)
		}
	}
	if o.handoffs < 1 || o.handoff < 0 {
		return fmt.Errorf("local hand-off of %d acquisitions within %s: give WithHandoff 1 or more, and no time below 0",
			o.handoffs, o.handoff)
	}
	if len(o.owner.Label) > maxLabel {
		return fmt.Errorf("label of %d bytes: give WithLabel at most %d", len(o.owner.Label), maxLabel)
	}
	return nil
}

// validPath reports whether path is absolute, below the root, and none that ZooKeeper refuses.
func validPath(path string) bool {
	parts := strings.Split(path, "/")
	return len(parts) > 1 && parts[0] == "" && !slices.ContainsFunc(parts[1:], func(part string) bool {
		return part == "" || part == "." || part == ".." || strings.Contains(part, "\x00")
	})
}

var hostname = sync.OnceValue(func() string {
	name, _ := os.Hostname() // only for people to read
	return name
})

// WithHandoff bounds the local hand-off of a Mutex while another process waits: the lock goes to the other process
// after count acquisitions, or when d has passed since it was seen waiting, if that is earlier. A holder is not
// interrupted, so d may be exceeded by one hold. A count of 1 turns local hand-off off: then each acquisition queues in
// ZooKeeper by itself, in one order for all processes. With a count below 1, or a negative d, each acquisition fails.
// Default: 4096 and 25 ms.
//
// All Mutex values on one path of a Session share a queue, with the options of the value that began it.
func WithHandoff(count int, d time.Duration) MutexOption {
	return mutexOption(func(o *options) { o.handoffs, o.handoff = count, d })
}

// WithACL sets the ACL of the lock's nodes and of the parents that it makes. In ZooKeeper the
// parent's ACL decides who may delete its children, so the lock's path should not exist with another
// one. Default: the session's ACL, see Session.ACL.
func WithACL(acl []zk.ACL) Option {
	return lockOption(func(o *options) { o.acl = acl })
}

// WithNames sets what stands before the number in the names of a Mutex's nodes, so that the Mutex can share its path
// with clients that name theirs differently. This Mutex puts own into the names of the nodes that it makes. Nodes with
// own or one of further in their names are contenders, and all others are not. Two clients exclude each other only if
// each counts the other's nodes as contenders. With kazoo's Lock use one of:
//
//	WithNames("__lock__")           and nothing to set for kazoo
//	WithNames("lock-", "__lock__")  and extra_lock_patterns=["lock-"] for kazoo
//
// The names must be the same for all Mutex values on a path. With an empty name, or one with a
// slash, each acquisition fails. Default: "lock-".
func WithNames(own string, further ...string) MutexOption {
	return mutexOption(func(o *options) { o.names = append([]kind{own}, further...) })
}

// WithLabel sets a label that Inspect shows with the holder's or waiter's host and process, for
// example the service's name. Default: none.
func WithLabel(label string) Option {
	return lockOption(func(o *options) { o.owner.Label = label })
}

// WithHooks sets functions to be called for metrics. Default: none.
func WithHooks(h Hooks) Option {
	return lockOption(func(o *options) { o.hooks = h })
}

// Hooks are called as a lock is used, for metrics. Any of them may be nil. They are called
// synchronously and by many goroutines at once, so they must be quick and safe for concurrent use.
type Hooks struct {
	// Woken is called each time that a waiter in ZooKeeper's queue is woken by the end of its
	// predecessor: once for each release. For the waiter of a semaphore it is called for each change of the leases.
	Woken func(path string)
	// Waited is called at the end of each acquisition with how long it took and its error, which is nil if it
	// succeeded. A ReentrantMutex that is entered again has not waited.
	Waited func(path string, d time.Duration, err error)
	// Held is called at the first Release of each handle with how long it was held.
	Held func(path string, d time.Duration)
	// Lost is called once for each handle that was lost while held, and not for Session.Close. The cause is
	// ErrExpired, ErrSilence or ErrDeleted.
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
