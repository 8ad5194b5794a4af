// Package herd holds the published case study's locks whose release wakes every waiter: of one node, and of a queue
// whose path all waiters watch. They are here to be measured against package zklock, and not to be used: with n waiters
// one release costs n wake-ups and n tries, and the server's answer time grows with the crowd (the herd effect,
// described in ZooKeeper's own recipes).
//
// Except for the herd effect, the locks are correct. A watch is set by the same request that reads the state it guards,
// so no deletion falls between the two; a woken waiter always tries again before it believes that it holds the lock; a
// waiter that gives up removes its node; a release deletes only its acquisition's node.
//
// Missing parents are made as package zklock makes them. All types are safe for concurrent use; each Acquire returns a
// new handle.
package herd
