// Package chaos disturbs processes that contend for one lock of package zklock, and checks the history of their
// grants: mutual exclusion as ZooKeeper sees it, rising tokens, and a counter that is raised under the lock.
package chaos
