// Package snowid gives out 64-bit ids that are unique among all processes that
// share a ZooKeeper path, and that rise with time: Twitter's snowflake (41
// bits of milliseconds, 10 bits of node number, 12 bits of step, by
// bwmarrin/snowflake), with node numbers leased in ZooKeeper.
//
// # Why no id comes twice
//
// Each of the 1024 numbers has a persistent mark: the time up to which ids may
// have been given under it. A process takes a number only if its own clock is
// past the mark, moves the mark ahead of its clock by a version-checked write, and
// gives only ids whose time lies below the mark; it moves the mark on in time. The
// process that takes the number next starts above that mark, and its write
// makes every later write of the former holder fail. So two holders of one
// number cannot give the same id, whatever their clocks say, however long one of
// them was paused, and whether or not anybody has noticed that a session
// expired. (The idea is that of a reserved timestamp range, as in Google
// Percolator's timestamp oracle.)
//
// The ephemeral claim node beside the mark only says which numbers are in use,
// so that replicas do not take each other's.
//
// # What a caller can rely on
//
//   - Without ZooKeeper, and after the loss of the session, ids go on up to the
//     mark, for about the reserve (10 s by default). Then Next returns ErrNoLease.
//     The generator leases again in the background, under another number if need be.
//   - If the wall clock is set, forward or back, the generator leases again, so
//     that ids follow it; until it has, Next returns an error. It passes over numbers
//     whose mark is ahead of the clock, also after a restart; if that leaves none,
//     it fails with ErrClockBack.
//   - Ids of one generator rise strictly, unless the clock is set back.
//     Ids of several generators are ordered only as well as their clocks agree.
package snowid
