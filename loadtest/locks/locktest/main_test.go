package locktest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"orderstock/loadtest/locks"
)

// workerEnv holds a worker's orders; a test binary that finds it is a worker and runs no tests.
const workerEnv = "LOCKTEST_WORKER"

func TestMain(m *testing.M) {
	orders, isWorker := os.LookupEnv(workerEnv)
	if !isWorker {
		os.Exit(m.Run())
	}
	var w locks.Worker
	err := json.Unmarshal([]byte(orders), &w)
	if err == nil {
		err = w.Run(context.Background(), os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}
