// Package stockclient is the order service's way to the stock service. It sends a
// call that failed again: a few times at most, with jittered pauses that honour
// Retry-After, out of a budget that keeps retries a small share of all calls. Its
// client chooses the replica, goes to the next one if it cannot reach that, and
// leaves a failing one alone. Reads of the ledger by concurrent orders share requests.
package stockclient
