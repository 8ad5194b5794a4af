package snowid

import "time"

// WithNumbers uses only the node numbers below n, at most Numbers. Default: Numbers.
func WithNumbers(n int) Option {
	return func(o *options) { o.numbers = min(max(1, n), Numbers) }
}

// WithClock reads the wall clock from now. It must be safe for concurrent
// use. Default: time.Now.
func WithClock(now func() time.Time) Option {
	return func(o *options) { o.now = now }
}
