// Package interop holds the test that package zklock's mutex, read-write lock and semaphore exclude
// Apache Curator's, and are excluded by them, on the same paths: a Java process with the
// distribution's Curator contends with goroutines.
package interop
