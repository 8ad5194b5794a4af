package servers

// The environment variables that name running servers for tests to use, by the administrator's
// DSN for MySQL and by host:port for the others. Package serverstest reads them.
const (
	EnvTestMySQL     = "ORDERSTOCK_TEST_MYSQL"
	EnvTestRedis     = "ORDERSTOCK_TEST_REDIS"
	EnvTestZooKeeper = "ORDERSTOCK_TEST_ZOOKEEPER"
	// EnvTestZKLock is ZooKeeper's for the tests of package zklock, which know nothing of this project.
	EnvTestZKLock = "ZKLOCK_TEST_ZOOKEEPER"
)
