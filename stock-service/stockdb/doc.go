// Package stockdb keeps the stock service's ledger in MySQL or MariaDB.
//
// The transactions of this package are the protocol's only truth: the outcome
// under its flag, the conditional decrement of each goods and the flow rows,
// all or nothing.
//
// # The order of locks
//
// Every transaction takes its rows in one order, so that none wait in a circle:
//
//  1. rows of stock, by rising goods id,
//  2. rows of operations, by rising flag,
//  3. rows of stock_flow,
//  4. rows of restocks.
//
// What a transaction has to know before it can take them, such as the items of
// an operation that is to be given back, it reads before it begins, without
// locks; a guarded update then tells whether it still holds, and if not, the
// whole is done anew.
package stockdb
