// Package serverstest gives tests real MySQL, Redis and ZooKeeper servers, shared by a whole test run, and each test a
// separate place on them: a database, a Redis database, a ZooKeeper root.
//
// The environment names the servers:
//
//	ORDERSTOCK_TEST_MYSQL      the administrator's DSN, "root:pw@tcp(127.0.0.1:port)/"
//	ORDERSTOCK_TEST_REDIS      host:port
//	ORDERSTOCK_TEST_ZOOKEEPER  host:port
//
// "make test" starts them once and sets these. If one is not set, the first test that needs the server starts it for
// its test process; the server ends, and its folder is removed, when the process ends.
//
// A test that stops, kills or pauses a server starts a separate one with package servers and t.TempDir, because the
// shared ones serve other tests.
package serverstest
