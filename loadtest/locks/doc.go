// Package locks measures pkg/zklock against other ZooKeeper locks on one server: processes of contenders that acquire
// and release as fast as they can, on one path and on many.
//
// All locks of a shape take turns over several rounds, each in another order, many times in a round, so that a change
// in the machine's speed affects them all.
//
// The tests in locktest break the connections, processes and servers of such contenders, and check the history of their
// grants.
package locks
