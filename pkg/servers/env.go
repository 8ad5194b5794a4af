package servers

import (
	"os"
	"regexp"
	"slices"
)

// machine matches the variables that no setting of this project uses: of the system, of Go and of OpenTelemetry.
var machine = regexp.MustCompile(`^(PATH|HOME|USER|TMPDIR|TZ|LANG|LC_\w+|LD_\w+|SSL_CERT_\w+|GO\w+|OTEL_\w+)=`)

// Environment returns the environment of a program of this project: its settings, and of this process's environment the
// variables of the system, of Go and of OpenTelemetry. A setting that a shell still has of another stack is not passed.
func Environment(settings []string) []string {
	foreign := func(variable string) bool { return !machine.MatchString(variable) }
	return append(slices.DeleteFunc(os.Environ(), foreign), settings...)
}

// The environment variables that name running servers for tests to use, by the administrator's
// DSN for MySQL and by host:port for the others. Package serverstest reads them.
const (
	EnvTestMySQL     = "ORDERSTOCK_TEST_MYSQL"
	EnvTestRedis     = "ORDERSTOCK_TEST_REDIS"
	EnvTestZooKeeper = "ORDERSTOCK_TEST_ZOOKEEPER"
)
