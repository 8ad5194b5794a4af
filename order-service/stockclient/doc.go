// Package stockclient is the order service's way to the stock service. It is the
// one layer that tries again: a few times at most, with jittered pauses that
// honour Retry-After, out of a budget that keeps retries a small share of all
// calls. Its client chooses the replica, and leaves a failing one alone.
// Reads of the ledger by concurrent orders share requests.
package stockclient
