package servers_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"orderstock/pkg/servers"
)

// A server that cannot be a group's member is refused before anything is started.
func TestAGroupNeedsMySQL(t *testing.T) {
	for name, c := range map[string]struct{ prints, want string }{
		"MariaDB": {"mysqld  Ver 10.11.14-MariaDB-0+deb12u2 for debian-linux-gnu on x86_64", "is no MySQL server"},
		"old":     {"/usr/sbin/mysqld  Ver 8.0.36 for Linux on x86_64", "is too old"},
		"strange": {"hello", "is no MySQL server"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			program := filepath.Join(dir, "mysqld")
			if err := os.WriteFile(program, []byte("#!/bin/sh\necho '"+c.prints+"'\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Setenv(servers.EnvMySQLD, program)
			_, err := servers.StartMySQLGroup(t.Context(), filepath.Join(dir, "data"), 3, nil)
			if !errors.Is(err, servers.ErrNoGroupServer) || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), "set MYSQLD") {
				t.Errorf("error %v; want %q, and what to install", err, c.want)
			}
			if _, err := os.Stat(filepath.Join(dir, "data")); !os.IsNotExist(err) {
				t.Errorf("something was started: %v", err)
			}
		})
	}
	t.Setenv(servers.EnvMySQLD, "/no/such/mysqld")
	if _, err := servers.StartMySQLGroup(t.Context(), t.TempDir(), 3, nil); err == nil ||
		!strings.Contains(err.Error(), "MYSQLD=/no/such/mysqld") {
		t.Errorf("no such program: %v", err)
	}
}
