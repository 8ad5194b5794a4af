// Package stock is the domain of the stock service: products and their levels, operations and their outcomes, and the
// rules that keep both correct.
//
// An operation is a deduction under an operation flag. A flag has one outcome, written once, in the operation's
// transaction. A repeat gets that outcome. The transaction alone decides: the flag in Redis only saves a look-up; the
// lock shortens waits and gives a fencing token, but does not make a deduction correct.
//
// Adapters: stockdb keeps the ledger in MySQL, deduct holds the deduction strategies, stockhttp serves the API.
package stock
