// Package zklock provides locks among processes, kept in Apache ZooKeeper.
//
//	session, err := zklock.Connect(ctx, []string{"zk1:2181", "zk2:2181", "zk3:2181"})
//	if err != nil {
//		return err
//	}
//	lock, err := zklock.NewMutex(session, "/locks/stock").Acquire(ctx)
//	if err != nil {
//		return err
//	}
//	work(lock.Context(), lock.Token())
//	return lock.Release(ctx)
//
// # Guarantees and their limits
//
// A lock has at most one holder as ZooKeeper sees it. It cannot keep a process from believing that it
// still is the holder: a process that was paused goes on at the same point, and a request that it sent
// before may arrive later. No lock that expires can prevent this. So:
//
//   - Each acquisition has a fencing token. A later acquisition has a greater token, even if sessions or the lock's
//     parent node were lost in between. The protected resource should remember the greatest token it has seen and
//     refuse smaller ones; Token shows this in SQL. This holds without any assumption about time.
//   - A handle's context ends when the lock is lost: at once if the server says so, and otherwise, by the local clock,
//     one session timeout after the sending of the latest request that succeeded with the leader's help. That is before
//     the server gives the lock to another holder, if the two clocks run at one rate and the machine's monotonic clock
//     does not stop while the machine is suspended. A server that is cut off from its ensemble together with this
//     client may have passed a request on and not yet, in the same half tick, the news that the client is alive: then
//     the other holder may come up to half a tick earlier, a second with ZooKeeper's default. If these assumptions
//     hold, work under that context stops in time. If they do not, the token protects. If someone else deletes the
//     queue node, the context ends as soon as the server says so, and within 100 ms if that happens just after the
//     grant.
//   - First come, first served, in the order in which ZooKeeper saw the contenders arrive. With local
//     hand-off, the default of Mutex, that order is among the processes and, in each process, among
//     its goroutines, within bounds: see WithHandoff.
//   - A release wakes one waiter, however many there are.
//   - An acquisition that fails leaves no node that others would wait for. A node that cannot be
//     removed at once, because the connection is down, is removed after the reconnect.
//   - Waiting acquisitions keep their place in the queue over reconnects. If the session expires, they queue again.
//
// # Speed
//
// An acquisition costs ZooKeeper a create and a delete, both forced to disk, and a look at the queue, unless
// the numbers of the nodes show that nobody came since the process had the lock last. With local hand-off the
// process makes one node in ZooKeeper's queue, and its goroutines hand the lock on through memory for as long
// as no other process waits, and for a bounded number and time if one does (lock cohorting). Other processes
// wait longer by one bounded turn for each process before them, and not for a hold of each of its goroutines.
// When nobody in the process waits, a release gives the lock up as without hand-off.
//
// # The locks
//
// Mutex, ReentrantMutex, RWMutex, Semaphore, and Multi, which is several at once. Do runs a function under any of them;
// Lock.Guard makes a transaction of ZooKeeper depend on one, and Session.Lead has one process of several do a work. The
// nodes in ZooKeeper follow Apache Curator's recipes, so that programs in other languages can share the locks. A Mutex
// also excludes the Lock of github.com/go-zookeeper/zk and, with WithNames, kazoo's. Kinds do not mix: a Mutex and an
// RWMutex on one path do not exclude each other.
//
// On one path, Curator's lock and its counterpart exclude each other; CURATOR.md has their names side by side.
//
// # Limits
//
// ZooKeeper numbers a parent's children up to 2^31-1, and gives this number to all later ones. Shortly before that,
// acquisitions fail with ErrUsedUp: at 500 acquisitions a second without a pause, after 50 days. This package makes
// parents as containers, which the server removes when they are idle; the counter of a new parent starts again. Curator
// and kazoo go by the numbers to the end and beyond, and then let two processes hold the lock.
//
// README.md shows how to read the code.
package zklock
