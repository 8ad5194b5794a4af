// Package serverstest gives tests real MySQL, Redis and ZooKeeper servers,
// shared by a whole test run, and each test a place of its own on them: a
// database, a Redis database, a ZooKeeper root.
//
// The servers are those that the environment names:
//
//	ORDERSTOCK_TEST_MYSQL      the administrator's DSN, "root:pw@tcp(127.0.0.1:port)/"
//	ORDERSTOCK_TEST_REDIS      host:port
//	ORDERSTOCK_TEST_ZOOKEEPER  host:port
//
// "make test" starts them once and sets these. Where one is not set, the first
// test that asks starts the server for its test process; it is gone, with its
// folder, when the process ends.
//
// A test that stops, kills or pauses a server starts one of its own with
// package servers and t.TempDir, as the shared ones serve others meanwhile.
package serverstest
