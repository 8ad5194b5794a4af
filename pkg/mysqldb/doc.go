// Package mysqldb opens MySQL and MariaDB databases the way both services need
// them, and runs transactions that say what became of them.
//
// Every connection is set to READ COMMITTED and gives up waiting for a row
// after a second; the server drops it when its client is silent for a few
// seconds, so that a dead or paused process soon loses the rows that it holds.
//
// One row that somebody holds must not hold up a batch: SetAside carries out the
// rest of it.
//
// Transact answers in one of three ways: nil, the transaction is committed; an
// error that wraps ErrCommitUnknown, the commit was sent and its reply was
// lost, so that only reading again tells; any other error, nothing changed.
package mysqldb
