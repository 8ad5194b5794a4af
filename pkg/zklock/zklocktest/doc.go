// Package zklocktest gives tests a zklock.Session without ZooKeeper, and lets them break it:
//
//	session, link := zklocktest.NewSession(t)
//	lock, err := zklock.NewMutex(session, "/locks/stock").Acquire(ctx)
//	link.Expire()
//	<-lock.Context().Done() // the code under test must stop by then
//
// The Session is a real one: all code of package zklock runs as it does in production, on the client
// library's connection. At its other end is a ZooKeeper server in the memory of the test's process. So
// everything that package zklock says of locks, errors and contexts holds here too, with these differences:
//
//   - A request takes some microseconds, as nothing is written to disk, or what Link.Slow says.
//   - The session timeout is exactly what zklock.WithSessionTimeout asks for, down to milliseconds.
//   - The nodes above locks stay when they are empty. ZooKeeper removes them after a minute or so.
//   - There is one server, which does not fail; Link.Disconnect cuts a session off from it.
//
// In a bubble of testing/synctest, a session runs out without a wait. Elsewhere a test that waits for that
// should ask for a short timeout, such as a second: at a few milliseconds, a machine that is busy loses
// sessions that it should keep.
package zklocktest
