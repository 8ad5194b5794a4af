package stockapi

import "time"

// HedgeDelay is the hedging delay, unless WithHedge sets it.
const HedgeDelay = hedgeDelay

// WithHedge sets the hedging delay.
func WithHedge(delay time.Duration) Option { return func(c *Client) { c.hedge = delay } }

// Waiting returns the number of deductions that no shared request has taken yet.
func (c *Client) Waiting() (n int) {
	for _, r := range c.fleet.Load().all {
		n += r.shared.Waiting()
	}
	return n
}
