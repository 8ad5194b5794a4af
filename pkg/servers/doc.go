// Package servers runs real MySQL or MariaDB, Redis and ZooKeeper servers, and any other server program, as child
// processes on free ports of 127.0.0.1 with their data and logs in a given folder.
//
// They run like a production primary, not like a test double: MySQL with its binary log and redo log synced at every
// commit, ZooKeeper with its log forced to disk, Redis with an append-only file. Only their addresses and their memory
// differ.
//
// # Guarantees
//
//   - Start… returns once the server answers a real request, or with an error that holds the end of the server's
//     log. Its context bounds the start and nothing after it.
//   - A missing program is a *programs.MissingError that names the packages to install.
//   - Stop is a graceful stop, Kill is SIGKILL, Pause and Resume are SIGSTOP and SIGCONT, Restart keeps the port and
//     the data: the faults of a real machine.
//   - Servers lead their own process groups, so that a Ctrl-C at the terminal reaches only the caller, which stops
//     them in order. On Linux they die with the process that started them, even if SIGKILL ends it.
//   - All methods are safe for concurrent use.
//
// Package serverstest shares one set of servers among the tests of a run.
package servers
