package zklock_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"orderstock/pkg/servers/serverstest"
)

// The package is a folder to copy: the README's two lines copy it into an empty module, where it is vetted, its
// program runs on a server, and the documents' examples compile.
func TestTheFolderCanBeCopied(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	must(t, err)
	shop := filepath.Join(t.TempDir(), "shop")
	must(t, os.Mkdir(shop, 0o755))
	readme := read(t, "README.md")
	lines := strings.ReplaceAll(block(t, readme, "```sh\n"), "../shop", shop)
	if n := strings.Count(lines, "\n"); n != 2 {
		t.Errorf("%d lines copy the folder, want 2", n)
	}
	run(t, root, "sh", "-c", lines)

	program := block(t, readme, "```go\n")
	write(t, filepath.Join(shop, "main.go"),
		strings.ReplaceAll(program, "127.0.0.1:2181", serverstest.ZooKeeper(t).Addr()))
	example := block(t, read(t, "doc.go"), "in Apache ZooKeeper.\n//\n")
	write(t, filepath.Join(shop, "example.go"), "package main\n\n"+
		"import (\n\t\"context\"\n\n\t\"example.com/shop/zklock\"\n)\n\n"+
		"func example(ctx context.Context, work func(context.Context, zklock.Token)) error {\n"+
		regexp.MustCompile(`(?m)^//\t?`).ReplaceAllString(example, "")+"}\n")

	// The copy has no other modules than these.
	wanted := regexp.MustCompile(`(?m)^\t(github\.com/go-zookeeper/zk|golang\.org/x/(sync|time)) v.*$`)
	modules := wanted.FindAllString(read(t, filepath.Join(root, "go.mod")), -1)
	write(t, filepath.Join(shop, "go.mod"),
		"module example.com/shop\n\ngo 1.26.0\n\nrequire (\n"+strings.Join(modules, "\n")+"\n)\n")
	write(t, filepath.Join(shop, "go.sum"), read(t, filepath.Join(root, "go.sum")))
	run(t, shop, "go", "vet", "./...")
	if out := run(t, shop, "go", "run", "."); !strings.Contains(out, "send the token with each write: 0000") {
		t.Errorf("the program printed %q", out)
	}
}

// block returns what follows the beginning up to the end of the block of code.
func block(t *testing.T, text, begin string) string {
	t.Helper()
	_, rest, found := strings.Cut(text, begin)
	code, _, ended := strings.Cut(rest, "```\n")
	if begin[0] != '`' {
		code, _, ended = strings.Cut(rest, "//\n// # ")
	}
	if !found || !ended {
		t.Fatalf("no block that begins with %q", begin)
	}
	return code
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	must(t, err)
	return string(content)
}

func write(t *testing.T, file, content string) {
	t.Helper()
	must(t, os.WriteFile(file, []byte(content), 0o600))
}

// run runs a command in a folder and returns its output.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}
