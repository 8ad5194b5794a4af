// Package deduct holds the strategies of deduction: how concurrent operations
// on the same goods are kept apart. Each is chosen by its name (New) and is
// correct by the transaction of package stockdb, whatever it does before and
// after; only "unsafe" is not, and has to be allowed.
//
//	sequential          a ZooKeeper mutex for each goods, taken in order; one session for the process
//	case-study          as published: one lock for all goods, a new ZooKeeper session for each lock
//	single-node         one ephemeral node for each goods, which everyone watches: the herd
//	zk-lock             the lock of the ZooKeeper client library
//	redis-lock          a Redlock for each goods (redsync): no fencing token
//	conditional-update  no lock: the rows' own
//	grouped             one lock, and all operations that wait in one transaction
//	unsafe              reads, then writes, without a lock: oversells
package deduct
