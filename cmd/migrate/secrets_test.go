package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"orderstock/pkg/servers"
	"orderstock/pkg/servers/serverstest"
)

// secrets runs migrate secrets.
func secrets(t *testing.T, dir string, files ...string) error {
	t.Helper()
	cmd := newCommand(new(bytes.Buffer))
	cmd.SetErr(new(bytes.Buffer))
	cmd.SetArgs(append([]string{"secrets", dir}, files...))
	return cmd.ExecuteContext(t.Context())
}

// TestServersAcceptSecrets: a server with rules for passwords accepts all that migrate makes, and no reader of a shell,
// a URL, a DSN or a configuration finds a character with a meaning in them. MySQL's limit is 32 characters, for the
// account of a group.
func TestServersAcceptSecrets(t *testing.T) {
	server := serverstest.Start(t, servers.StartMySQL, servers.Options{})
	rules := []string{"INSTALL SONAME 'simple_password_check'"}
	if version, err := server.Version(t.Context()); err != nil {
		t.Fatal(err)
	} else if !strings.Contains(version, "MariaDB") {
		rules = []string{"INSTALL COMPONENT 'file://component_validate_password'"}
	}
	if err := server.Exec(t.Context(), rules...); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Setenv("MYSQL_ADMIN_DSN", server.AdminDSN())
	plain := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{25,31}$`)
	for _, name := range []string{"ORDER_DB_PASSWORD", "STOCK_DB_PASSWORD", "MIGRATE_DB_PASSWORD", "VERIFY_DB_PASSWORD"} {
		file := filepath.Join(dir, name)
		if err := secrets(t, dir, name+"=$"+name); err != nil {
			t.Fatal(err)
		}
		secret, err := os.ReadFile(file)
		if err != nil || !plain.Match(secret) {
			t.Errorf("the secret %q (%v); want %v", secret, err, plain)
		}
		t.Setenv(name+"_FILE", file)
	}
	cmd := newCommand(new(bytes.Buffer))
	cmd.SetArgs([]string{"up"})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestSecretsOfAnOldKeyStay: a server keeps the passwords that an earlier version derived from the key.
func TestSecretsOfAnOldKeyStay(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "key"), []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), 0o400); err != nil {
		t.Fatal(err)
	}
	if err := secrets(t, dir, "X=$A_PASSWORD"); err != nil {
		t.Fatal(err)
	}
	const old = "42ETQNTD44YHHJLFH3V7Q4NH65J7GZPW"
	if got, err := os.ReadFile(filepath.Join(dir, "X")); err != nil || string(got) != old {
		t.Errorf("the secret of an old key is %s (%v), was %s", got, err, old)
	}
}

// TestSecretsAreRandomAndStay: they differ by folder and by name, and are the same each time and in each file.
func TestSecretsAreRandomAndStay(t *testing.T) {
	t.Setenv("MYSQL", "tcp(mysql:3306)")
	t.Setenv("GIVEN", "it's mine")
	write := func(dir string, files ...string) error { return secrets(t, dir, files...) }
	read := func(path ...string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(path...))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	seen := map[string]bool{}
	for range 2 {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "order"), 0o755); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time over the files of the first
			if err := write(dir, "order/PASSWORD=$A_PASSWORD", "order/DSN=app:$A_PASSWORD@$MYSQL/db?x=y",
				"order/OTHER=$B_PASSWORD", "order/GIVEN=$GIVEN"); err != nil {
				t.Fatal(err)
			}
			a, b := read(dir, "order/PASSWORD"), read(dir, "order/OTHER")
			if len(a) < 26 || len(b) < 26 || a == b || strings.Contains(read(dir, "key"), a) {
				t.Errorf("secrets %q and %q", a, b)
			}
			seen[a], seen[b] = true, true
			if dsn := read(dir, "order/DSN"); dsn != "app:"+a+"@tcp(mysql:3306)/db?x=y" {
				t.Errorf("a text with the secret %s is %s", a, dsn)
			}
			if given := read(dir, "order/GIVEN"); given != "it's mine" {
				t.Errorf("a value that was given is %s", given)
			}
		}
		for file, mode := range map[string]os.FileMode{"key": 0o400, "order/PASSWORD": 0o444} {
			if info, err := os.Stat(filepath.Join(dir, file)); err != nil || info.Mode() != mode {
				t.Errorf("%s: %v, %v; want %v", file, info.Mode(), err, mode)
			}
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
			t.Errorf("the folder holds %v (%v), want the key and the files", entries, err)
		}
	}
	if len(seen) != 4 {
		t.Errorf("%d different secrets in two folders, want 2 in each", len(seen))
	}
	for _, wrong := range []string{"order", "../outside=x", "/outside=x", "nowhere/X=x"} {
		if err := write(t.TempDir(), wrong); err == nil {
			t.Errorf("%s was written", wrong)
		}
	}
}
