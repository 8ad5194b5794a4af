// Package locktest holds the tests of package zklock that need more than one process or a bad
// network: contenders that are killed and stopped, connections that break at chosen packets,
// an ensemble that loses its leader or its quorum, and many contenders at once.
//
// The contending processes are this test binary itself, started again as a worker.
package locktest
