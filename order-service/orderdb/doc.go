// Package orderdb keeps the orders in MySQL or MariaDB.
//
// Concurrent calls of one kind share round trips (see pkg/coalesce): inserts
// become one multi-row insert and one commit, changes of status one update for
// each kind of change, look-ups one read. A call on its own goes at once.
package orderdb
