// Package interop holds the tests that package zklock's locks exclude the locks of Apache Curator, and
// are excluded by them, on the same paths: a Java process with the distribution's Curator contends with
// goroutines. There is a test for each lock of Curator in zklock's table, and one with kazoo's Lock.
package interop
