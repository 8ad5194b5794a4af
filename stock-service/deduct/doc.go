// Package deduct holds the strategies of deduction that a stock service is run
// with: grouped, grouped-rows, sequential and conditional-update. A strategy keeps concurrent
// operations on the same products apart, and so decides who waits for whom. The
// transaction of package stockdb alone makes a deduction correct.
//
// # Reading order
//
//  1. sequential.go and locked.go: the published shape. Take the lock of each product,
//     carry one operation out in a transaction, release after the commit.
//  2. grouped.go and groups.go: the default. The same for all callers that wait: one
//     group, one transaction, under the locks of all partitions that it touches.
//  3. holding.go: the locks of one group, and the fence that they make.
//  4. keeper.go: the lock of one partition, kept from group to group, and what happens
//     when its holder is stuck.
//
// Package compared holds the strategies that are kept for comparison with these.
// Package strategy lists all of them, and says what each does.
package deduct
