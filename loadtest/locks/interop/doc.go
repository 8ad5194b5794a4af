// Package interop holds the tests that package zklock's locks exclude the locks of Apache Curator, and
// are excluded by them, on the same paths: a Java process with the distribution's Curator contends with
// goroutines. There is a test for each lock of Curator in zklock's table, and one with kazoo's Lock.
//
// Each test takes 10 to 20 s: a lock changes hands 400 times, with several writes each time, and ZooKeeper syncs every
// write. The first one also waits for Java to compile the contenders.
package interop
