package zklock_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"orderstock/pkg/servers/serverstest"
	"orderstock/pkg/zklock"
)

// The package is a folder to copy: the README's lines copy it into an empty module, where it is vetted, its
// program runs on a server, and the documents' examples compile. The licence and the documents go with it as they are.
func TestTheFolderCanBeCopied(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	must(t, err)
	shop := filepath.Join(t.TempDir(), "shop")
	must(t, os.Mkdir(shop, 0o755))
	// The copy has no other modules than these.
	wanted := regexp.MustCompile(`(?m)^\t(github\.com/go-zookeeper/zk|golang\.org/x/(sync|time)) v.*$`)
	modules := wanted.FindAllString(read(t, filepath.Join(root, "go.mod")), -1)
	write(t, filepath.Join(shop, "go.mod"),
		"module example.com/shop\n\ngo 1.26.0\n\nrequire (\n"+strings.Join(modules, "\n")+"\n)\n")
	write(t, filepath.Join(shop, "go.sum"), read(t, filepath.Join(root, "go.sum")))
	readme := read(t, "README.md")
	run(t, root, "sh", "-ec", "export GOPROXY=off\n"+strings.ReplaceAll(block(t, readme, "```sh\n"), "../shop", shop))
	var files []string
	must(t, filepath.WalkDir(filepath.Join(shop, "zklock"), func(file string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Ext(file) != ".go" {
			files = append(files, filepath.Base(file))
			if read(t, file) != read(t, filepath.Base(file)) {
				t.Errorf("the copy has changed %s", file)
			}
		}
		return err
	}))
	if want := []string{"CHANGES.md", "CURATOR.md", "DECISIONS.md", "LICENSE", "README.md"}; !slices.Equal(files, want) {
		t.Errorf("the copy has %q besides the code, want %q", files, want)
	}

	program := block(t, readme, "```go\n")
	write(t, filepath.Join(shop, "main.go"),
		strings.ReplaceAll(program, "127.0.0.1:2181", serverstest.ZooKeeper(t).Addr()))
	example := block(t, read(t, "doc.go"), "in Apache ZooKeeper.\n//\n")
	write(t, filepath.Join(shop, "example.go"), "package main\n\n"+
		"import (\n\t\"context\"\n\n\t\"example.com/shop/zklock\"\n)\n\n"+
		"func example(ctx context.Context, work func(context.Context, zklock.Token)) error {\n"+
		regexp.MustCompile(`(?m)^//\t?`).ReplaceAllString(example, "")+"}\n")

	run(t, shop, "go", "vet", "./...")
	if out := run(t, shop, "go", "run", "."); !strings.Contains(out, "send the token with each write: 0000") {
		t.Errorf("the program printed %q", out)
	}
}

// The folder's licence is the project's, and its newest changes are those of its version.
func TestTheFolderIsComplete(t *testing.T) {
	if read(t, "LICENSE") != read(t, "../../LICENSE") {
		t.Error("the licence differs from the project's")
	}
	newest := regexp.MustCompile(`(?m)^## (.*)$`).FindStringSubmatch(read(t, "CHANGES.md"))
	if newest == nil || newest[1] != zklock.Version {
		t.Errorf("CHANGES.md begins with %q, the version is %s", newest, zklock.Version)
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
