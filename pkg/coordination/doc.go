// Package coordination is a service's part in ZooKeeper: its session, its ids, the election of the replica that
// leads, and the addresses of replicas. All of it begins in the background, so that a service starts, and answers
// requests that need no ZooKeeper, while ZooKeeper is away.
package coordination
