// Package deduct holds the deduction strategies of the stock service: grouped, grouped-rows, sequential and
// conditional-update. A strategy serializes concurrent operations on the same products, and so decides who waits for
// whom. The transaction of package stockdb alone makes a deduction correct.
//
// # Reading order
//
//  1. sequential.go and locked.go: the published shape. Take the lock of each product, execute one operation in a
//     transaction, release after the commit.
//  2. grouped.go and groups.go: the default. The same for all waiting callers: one group, one transaction, under the
//     locks of all partitions that it touches.
//  3. holding.go: the locks of one group, and the fence that they make.
//  4. keeper.go: the lock of one partition, kept from group to group, and the response to a stuck holder.
//
// Package compared holds the strategies that are kept for comparison with these. Package strategy lists and describes
// all of them.
package deduct
