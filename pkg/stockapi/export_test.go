package stockapi

import "time"

// HedgeDelay is the hedging delay, unless Hedged sets it.
const HedgeDelay = hedgeDelay

// Hedged returns the config with that hedging delay.
func (c Config) Hedged(delay time.Duration) Config {
	c.hedge = delay
	return c
}

// Waiting returns the number of deductions that no shared request has taken yet.
func (c *Client) Waiting() (n int) {
	for _, r := range c.fleet.Load().all {
		n += r.shared.Waiting()
	}
	return n
}

// Confirming returns the number of confirmations that no request has taken yet.
func (c *Client) Confirming() int { return c.ledger.Waiting() }

// Probes is the number of calls that a half-open breaker lets through.
const Probes = probes
