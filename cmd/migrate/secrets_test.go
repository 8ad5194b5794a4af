package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSecretsAreRandomAndStay: they differ by folder and by name, and are the same each time and in each file.
func TestSecretsAreRandomAndStay(t *testing.T) {
	t.Setenv("MYSQL", "tcp(mysql:3306)")
	t.Setenv("GIVEN", "it's mine")
	write := func(dir string, files ...string) error {
		cmd := newCommand(new(bytes.Buffer))
		cmd.SetErr(new(bytes.Buffer))
		cmd.SetArgs(append([]string{"secrets", dir}, files...))
		return cmd.ExecuteContext(t.Context())
	}
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
