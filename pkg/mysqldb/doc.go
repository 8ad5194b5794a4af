// Package mysqldb opens MySQL and MariaDB databases the way both services need
// them, and runs transactions that say what became of them.
//
// Every connection is set to READ COMMITTED and gives up waiting for a row
// after a few seconds; the server drops it when its client is silent for a
// minute, so that a dead or paused process holds no rows for hours.
//
// Transact answers in one of three ways: nil, the transaction is committed; an
// error that wraps ErrCommitUnknown, the commit was sent and its reply was
// lost, so that only reading again tells; any other error, nothing changed.
package mysqldb
