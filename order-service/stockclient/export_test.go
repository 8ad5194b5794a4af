package stockclient

// Waiting returns the number of confirmations that no request has taken yet.
func (c *Caller) Waiting() int { return c.ledger.Waiting() }
