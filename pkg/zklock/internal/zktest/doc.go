// Package zktest gives package zklock's tests a ZooKeeper server, and each test its own place on it.
//
// The environment variable ZKLOCK_TEST_ZOOKEEPER names the server that they share, as host:port. With the
// value "memory" each test process has one of package memory. If it is not set, the first test that needs the
// server starts it, and it ends with the test process. Starting a server takes Java and the jars of ZooKeeper:
// from Debian's package zookeeper, or the distribution that ZOOKEEPER_HOME names.
package zktest
