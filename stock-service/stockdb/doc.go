// Package stockdb keeps the stock service's ledger in MySQL or MariaDB.
//
// Its transactions alone decide the outcome: the record under its flag, the conditional decrement of each level, and
// the flow rows, all or nothing.
//
// # The order of locks
//
// Every transaction locks its rows in one order, so that no two deadlock:
//
//  1. rows of stock, by ascending goods id,
//  2. rows of operations, by ascending flag,
//  3. rows of stock_flow,
//  4. rows of restocks.
//
// A cancellation must know the items of the operation before it can lock their rows. It reads them before the
// transaction, without locks. A guarded update then shows whether they have changed; if so, the cancellation starts
// again.
package stockdb
