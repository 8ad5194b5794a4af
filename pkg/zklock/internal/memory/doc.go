// Package memory is a ZooKeeper server in memory, for tests: as much of the protocol and of its meaning
// as package zklock uses. It has sessions that expire, ephemeral and sequential nodes, one-time watches
// that clients set again after a reconnect, transactions of several operations, and ACLs of the schemes
// world, auth and digest.
//
// It has no disk, no ensemble and no quotas. A container is not removed when it is empty. A session's
// timeout is the one that the client asks for.
package memory
