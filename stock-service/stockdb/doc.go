// Package stockdb keeps the stock service's ledger in MySQL or MariaDB.
//
// The transactions of this package are the protocol's only truth: the outcome
// under its flag, the conditional decrement of each goods and the flow rows,
// all or nothing. Rows are taken in one order everywhere: the operation, or
// where many are taken together the stock first, then the stock rows by rising
// goods id, then the flows.
package stockdb
