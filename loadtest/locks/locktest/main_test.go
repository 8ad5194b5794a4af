// Package locktest_test holds the tests of package zklock that need more than one process or a bad
// network: contenders that are killed and stopped, connections that break at chosen packets,
// an ensemble that loses its leader or its quorum, and many contenders at once.
//
// The contending processes are this test binary itself, started again as a worker.
package locktest_test

import (
	"context"
	"fmt"
	"os"
	"testing"
)

// worker starts this test binary as a process of contenders that write to no register.
var worker = []string{os.Args[0], "worker", ""}

func TestMain(m *testing.M) {
	if len(os.Args) != 4 || os.Args[1] != worker[1] {
		os.Exit(m.Run())
	}
	var holding func(context.Context, string) error
	if register := os.Args[2]; register != "" {
		holding = func(ctx context.Context, token string) error { return write(ctx, register, token) }
	}
	if err := work(os.Args[3], os.Stdin, os.Stdout, holding); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}
