// Package snowid generates 64-bit ids that are unique among all processes that share a ZooKeeper path, and that rise
// with time: Twitter's snowflake (41 bits of milliseconds, 10 bits of node number, 12 bits of step, by
// bwmarrin/snowflake), with node numbers leased in ZooKeeper.
//
// # Why ids are unique
//
// Each of the 1024 numbers has a persistent mark: an upper bound of the times of its ids. A process takes a number only
// if its own clock is past the mark, moves the mark ahead of its clock by a version-checked write, and generates only
// ids whose time lies below the mark; it moves the mark on in time. The next holder of the number starts above that
// mark, and its write makes every later write of the former holder fail. So two holders of one number cannot generate
// the same id: not if their clocks disagree, not after a long pause, and not if a session expired unnoticed. (The idea
// is the reserved timestamp range of Google Percolator's timestamp oracle.)
//
// The ephemeral claim node next to the mark only shows which numbers are in use, so that replicas do not take each
// other's.
//
// # Guarantees for callers
//
//   - Without ZooKeeper, and after the loss of the session, ids continue up to the mark, for about the reserve (10 s
//     by default). Then Next returns ErrNoLease. The generator leases again in the background, under another number
//     if need be.
//   - If the wall clock is set, forward or back, the generator leases again, so that ids follow it; until it has,
//     Next returns an error. It skips numbers whose mark is ahead of the clock, also after a restart; if that leaves
//     none, it fails with ErrClockBack.
//   - Ids of one generator rise strictly, unless the clock is set back. Ids of several generators are ordered only
//     as well as their clocks agree.
package snowid
