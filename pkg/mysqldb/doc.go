// Package mysqldb opens MySQL and MariaDB databases as both services need them, and runs transactions whose errors
// report whether anything changed.
//
// Every connection uses READ COMMITTED and waits at most a second for a row. It sets each session variable that affects
// the meaning of a statement, such as autocommit and sql_mode, so that the server's defaults have no effect. The server
// drops a connection whose client is silent for a few seconds, so that a dead or paused process soon loses the rows
// that it holds. SetAside executes a batch without the rows that another connection holds.
//
// A DSN may name the members of a MySQL group instead of one server. Group finds the primary among them, and drops the
// connections to a former one.
//
// Transact returns nil if the transaction is committed. It returns an error that wraps ErrCommitUnknown if the commit
// was sent and not answered: only another read can show whether it is committed. After any other error nothing changed.
package mysqldb
