package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"orderstock/migrations"
	"orderstock/pkg/command"
	"orderstock/pkg/servers"
	"orderstock/pkg/servers/serverstest"
)

// A wrong command line and a wrong setting have an exit code that no failure has.
func TestWrongUsage(t *testing.T) {
	t.Setenv("MYSQL_ADMIN_DSN", "")
	for args, says := range map[string]string{
		"":                 "no command given",
		"up":               "MYSQL_ADMIN_DSN",
		"up --fast":        "unknown flag: --fast",
		"prune":            `required flag(s) "days" not set`,
		"prune --days few": `"few" for "--days" flag: want a whole number`,
		"group up":         "MYSQL_ADMIN_DSN",
		"secrets only":     "requires at least 2 arg(s)",
	} {
		var errs bytes.Buffer
		cmd := newCommand(io.Discard)
		cmd.SetErr(&errs)
		cmd.SetArgs(strings.Fields(args))
		if exit := command.Run(t.Context(), cmd); exit != command.Misused || !strings.Contains(errs.String(), says) {
			t.Errorf("%s: exit code %d, printed %s", args, exit, &errs)
		}
	}
}

// The command creates accounts with fixed names, so it has a separate server.
func TestMigrateUpTwiceThenStatus(t *testing.T) {
	server := serverstest.Start(t, servers.StartMySQL, servers.Options{})
	run := func(args ...string) (string, error) {
		var out bytes.Buffer
		cmd := newCommand(&out)
		cmd.SetArgs(args)
		err := cmd.ExecuteContext(t.Context())
		return out.String(), err
	}
	if _, err := run("up"); err == nil || !strings.Contains(err.Error(), "MYSQL_ADMIN_DSN") {
		t.Fatalf("without configuration: %v; want the name of the missing variable", err)
	}
	t.Setenv("MYSQL_ADMIN_DSN", server.AdminDSN())
	for _, name := range []string{"ORDER_DB_PASSWORD", "STOCK_DB_PASSWORD", "MIGRATE_DB_PASSWORD", "VERIFY_DB_PASSWORD"} {
		t.Setenv(name, "secret of "+name)
	}
	for range 2 {
		out, err := run("up")
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"order_db  5", "stock_db  8"} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in\n%s", want, out)
			}
		}
	}
	accounts := migrations.DefaultAccounts()
	check, err := migrations.ReadStatus(t.Context(), migrations.Config{
		AdminDSN: server.DSN("root", "unused", ""),
		Accounts: withPassword(accounts),
	})
	if err != nil || len(check) != 2 {
		t.Errorf("the migrator's password is not the one given: %v", err)
	}
	if _, err := run("status"); err != nil {
		t.Error(err)
	}
	wrong := filepath.Join(t.TempDir(), "dsn")
	if err := os.WriteFile(wrong, []byte(server.DSN("root", "unused", "")), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MYSQL_ADMIN_DSN", "")
	t.Setenv("MYSQL_ADMIN_DSN_FILE", wrong)
	if _, err := run("up"); err == nil || !strings.Contains(err.Error(), "down -v") {
		t.Errorf("with a password that is not the server's: %v; want what to do", err)
	}
}

func withPassword(a migrations.Accounts) migrations.Accounts {
	a.Migrator.Password = "secret of MIGRATE_DB_PASSWORD"
	return a
}
