// Package stock is the domain of the stock service: goods and their levels,
// operations and their outcomes, and the rules that keep both right.
//
// An operation is a deduction under an operation flag. A flag has one outcome,
// written once, in the transaction that carries the operation out; whoever
// asks again is told that outcome. What decides is that transaction alone: the
// flag in Redis and the lock in ZooKeeper only keep others away from it.
//
// Adapters: stockdb keeps the ledger in MySQL, deduct holds the strategies of
// deduction, stockhttp serves it all over HTTP.
package stock
