package snowid

import "time"

// Numbers is how many node numbers there are.
const Numbers = 1024

type options struct {
	reserve time.Duration
	numbers int
	now     func() time.Time
}

// Option changes a generator.
type Option func(*options)

// WithReserve sets how far the mark is moved ahead: how long ids go on without
// ZooKeeper, and how long a number is left alone after its holder died. At
// least 100 ms. Default 10 s.
func WithReserve(d time.Duration) Option {
	return func(o *options) { o.reserve = max(d, 100*time.Millisecond) }
}

// WithNumbers uses only the node numbers below n, at most Numbers. Default Numbers.
func WithNumbers(n int) Option {
	return func(o *options) { o.numbers = min(max(1, n), Numbers) }
}

// WithClock reads the wall clock from now, which must be safe for concurrent
// use: for tests. Default time.Now.
func WithClock(now func() time.Time) Option {
	return func(o *options) { o.now = now }
}
