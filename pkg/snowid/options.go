package snowid

import (
	"time"

	"github.com/go-zookeeper/zk"
)

// Numbers is the number of node numbers.
const Numbers = 1024

type options struct {
	reserve time.Duration
	numbers int
	acl     []zk.ACL
	now     func() time.Time
}

// Option changes how Lease works.
type Option func(*options)

// WithReserve sets how far the mark is moved ahead of the clock. A generator generates ids for that long without
// ZooKeeper, and the number of a dead one stays unused for that long. At least 100 ms. Default: 10 s.
func WithReserve(d time.Duration) Option {
	return func(o *options) { o.reserve = max(d, 100*time.Millisecond) }
}

// WithNumbers uses only the node numbers below n, at most Numbers. Default: Numbers.
func WithNumbers(n int) Option {
	return func(o *options) { o.numbers = min(max(1, n), Numbers) }
}

// WithACL sets the ACL of the nodes. Default: open to everybody.
func WithACL(acl []zk.ACL) Option {
	return func(o *options) { o.acl = acl }
}

// WithClock reads the wall clock from now, for tests. It must be safe for concurrent
// use. Default: time.Now.
func WithClock(now func() time.Time) Option {
	return func(o *options) { o.now = now }
}
