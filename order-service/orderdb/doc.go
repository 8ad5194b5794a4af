// Package orderdb keeps the orders in MySQL or MariaDB.
//
// Concurrent calls of one kind share round trips (see pkg/batch): inserts become one multi-row insert and one commit,
// changes of status one update for each kind of change, look-ups one read. A lone call is sent at once.
//
// # The order of locks
//
// Every transaction locks its rows in one order, so that no deadlock is possible:
//
//  1. entries of the key index, by ascending key: inserts, which lock no existing row,
//  2. rows of orders, by ascending id: moves,
//  3. rows of order_items, which only their order's insert locks.
package orderdb
