// Package stockdb keeps the stock service's ledger in MySQL or MariaDB.
//
// Its transactions alone decide the outcome: the record under its flag, the conditional decrement of each level, and
// the flow rows, all or nothing.
//
// # The order of locks
//
// Every transaction locks its rows in one order, so that two of them do not deadlock on rows that exist:
//
//  1. rows of stock, by ascending goods id,
//  2. rows of operations, by ascending flag,
//  3. rows of stock_flow,
//  4. rows of restocks.
//
// A cancellation must know the items of the operation before it can lock their rows. It reads them without locks. A
// guarded update then shows whether they have changed; if so, the transaction runs again.
//
// A restock looks for its flag in the tables of others after it has written its own, where a row may be missing: two
// users of one flag may deadlock, and the server ends one. Transact repeats that one.
package stockdb
