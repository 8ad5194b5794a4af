package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestGroupNamesMissingSettings(t *testing.T) {
	run := func(args ...string) error {
		cmd := newCommand(&bytes.Buffer{})
		cmd.SetArgs(append([]string{"group"}, args...))
		return cmd.ExecuteContext(t.Context())
	}
	if err := run("up"); err == nil || !strings.Contains(err.Error(), "MYSQL_ADMIN_DSN") {
		t.Errorf("without configuration: %v", err)
	}
	t.Setenv("MYSQL_ADMIN_DSN", "root:hunter2@tcp(127.0.0.1:1)/")
	for _, verb := range []string{"up", "reboot"} {
		if err := run(verb); err == nil || !strings.Contains(err.Error(), "GROUP_DB_PASSWORD is not set") {
			t.Errorf("%s without a password: %v", verb, err)
		}
	}
	t.Setenv("GROUP_DB_PASSWORD", "x")
	for _, verb := range []string{"up", "reboot", "status"} {
		err := run(verb)
		if err == nil || !strings.Contains(err.Error(), "group(a:3306,b:3306,c:3306)") ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s of one server: %v; want how to name the members", verb, err)
		}
	}
	t.Setenv("MYSQL_ADMIN_DSN", "root:hunter2@group(127.0.0.1:1,127.0.0.1:2)/")
	if err := run("status"); err == nil || !strings.Contains(err.Error(), "127.0.0.1:2") {
		t.Errorf("status of servers that are away: %v", err)
	}
}
