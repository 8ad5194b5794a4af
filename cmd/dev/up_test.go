//go:build compose

package main

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestUpFailsAtAWrongSetting, within minutes and with the service's name. It needs no stack, and brings up a part of
// it.
func TestUpFailsAtAWrongSetting(t *testing.T) {
	compose(t, "build")
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute) // docker-compose 1.29 first brings up all it can
	defer cancel()
	program := strings.Fields(os.Getenv("COMPOSE"))
	command := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, program[0], slices.Concat(program[1:], args)...)
		cmd.Dir, cmd.WaitDelay = "../..", time.Second
		return cmd
	}
	up := command("up", "-d", "--scale", "stock-service=3")
	up.Env = append(os.Environ(), "RATE_LIMIT_ORDERS=100/s")
	out, err := up.CombinedOutput()
	named := regexp.MustCompile(`for order-service |service "order-service-settings"`)
	if err == nil || ctx.Err() != nil || !named.Match(out) {
		t.Errorf("up: %v, want an error that names the order service\n%s", err, out)
	}
	if log := compose(t, "logs", "--no-color", "order-service-settings"); !strings.Contains(log, "RATE_LIMIT_ORDERS") {
		t.Errorf("the log does not name the setting: %s", log)
	}
	// In the same way, "up" ends when services do not become ready.
	out, err = command("run", "--rm", "ready", "wait", "--for", "2s").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "not ready after 2s: order service: ") {
		t.Errorf("ready: %v, want an error that names the order service\n%s", err, out)
	}
}
