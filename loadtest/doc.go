// Package loadtest fires orders at the two services and judges what came of them.
//
// Fire makes fresh goods, sends the orders of a Mix (with repeats and
// cancellations, if asked) and keeps a History: every call with its times and
// its answer. Verify reads that history and both databases, never a service,
// and returns a Verdict: pass, violation or unknown.
//
//	report, err := loadtest.Fire(ctx, loadtest.FireConfig{…})
//	verdict, err := loadtest.Verify(ctx, loadtest.VerifyConfig{History: report.History, …})
//
// Latency counts from the time at which an order was meant to be sent, not from
// the time at which a client was free to send it, so a server that stalls is
// charged with the wait that it caused (Gil Tene's "coordinated omission").
package loadtest
