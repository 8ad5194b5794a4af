package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"orderstock/loadtest/system"
	"orderstock/pkg/command"
	"orderstock/pkg/servers"
)

// javaOptions are for the java command. The ZooKeeper servers of tests live for seconds. In so short a time, Java's
// second compiler and its parallel collector cost more processor time than they save.
const (
	envJavaOptions = "JDK_JAVA_OPTIONS"
	javaOptions    = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
)

func testCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "test -- command…",
		Short: "Run a command, such as go test, with MySQL, Redis and ZooKeeper up, and exit with its exit code",
		Long: "Run a command with MySQL, Redis and ZooKeeper up, and with the environment of the shell but for settings of " +
			"this project, and exit with its exit code.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, say := cmd.Context(), command.Progress(os.Stderr)
			if os.Getenv(envJavaOptions) == "" {
				if err := os.Setenv(envJavaOptions, javaOptions); err != nil {
					return fmt.Errorf("test: %w", err)
				}
			}
			none := system.Config{OrderServices: -1, StockServices: -1, Progress: say} // servers alone
			return system.With(ctx, none, func(s *system.System) error {
				say("running the tests")
				return run(ctx, servers.Environment(
					servers.EnvTestMySQL+"="+s.MySQL.AdminDSN(),
					servers.EnvTestRedis+"="+s.Redis.Addr(),
					servers.EnvTestZooKeeper+"="+s.ZooKeeper.Addr(),
					"ZKLOCK_TEST_ZOOKEEPER="+s.ZooKeeper.Addr(), // pkg/zklock imports no other package
					system.EnvTestBin+"="+s.Bin,
				), args[0], args[1:]...)
			})
		},
	}
}
