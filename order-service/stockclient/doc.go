// Package stockclient is the order service's client of the stock service. It retries a failed call a few times, with
// jittered pauses that honour Retry-After, within a budget that keeps retries a small share of all calls. It chooses
// the replica, fails over to the next one if that is unreachable, and ejects a failing one. Ledger reads of concurrent
// orders share requests.
package stockclient
