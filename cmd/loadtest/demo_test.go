package main

import (
	"context"
	"os"
	"strings"
	"testing"

	"orderstock/pkg/command"
)

// The results of an earlier run are removed even if the demo ends before it fires.
func TestADemoRemovesTheEarlierVerdict(t *testing.T) {
	t.Parallel()
	out := earlierRun(t)
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	_, errs, exit := program(ctx, "demo", "--out", out)
	if exit != command.Unknown || !strings.Contains(errs, context.Canceled.Error()) {
		t.Errorf("an interrupted demo: exit code %d, %s", exit, errs)
	}
	if left, err := os.ReadDir(out); err != nil || len(left) > 0 {
		t.Errorf("%v, %v are left of an earlier run", left, err)
	}
}
