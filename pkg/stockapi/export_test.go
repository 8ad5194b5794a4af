package stockapi

import (
	"context"
	"time"

	"orderstock/pkg/operation"
)

// HedgeDelay is the hedging delay, unless Hedged sets it.
const HedgeDelay = hedgeDelay

// FirstEjection is how long a replica that left a request unanswered is passed over.
const FirstEjection = firstEjection

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

// Down reports whether Pass lets no call through.
func (c *Client) Down(ctx context.Context) bool {
	report, err := c.Pass(ctx, nil)
	if err == nil {
		report(operation.Operation{}, nil)
	}
	return err != nil
}
