package locktest_test

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

// folder is the one that the README says to copy.
const folder = "../../../pkg/zklock"

// Package zklock is a folder to copy: the README's lines copy it into an empty module of the oldest Go that it names,
// where it is vetted and its tests run on a server that they start, its program runs, and the documents' examples
// compile. It needs the client library alone.
// It takes more than 10 s: everything is compiled for the other module.
func TestTheFolderCanBeCopied(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../../..")
	must(t, err)
	shop := filepath.Join(t.TempDir(), "shop")
	must(t, os.Mkdir(shop, 0o755))
	readme := read(t, folder+"/README.md")
	oldest := regexp.MustCompile(`Go (1\.\d+)`).FindStringSubmatch(readme)
	client := regexp.MustCompile(`(?m)^\tgithub\.com/go-zookeeper/zk (v.*)$`).FindStringSubmatch(read(t, root+"/go.mod"))
	if oldest == nil || client == nil {
		t.Fatal("the README names no Go, or go.mod no client library")
	}
	env := []string{"GOPROXY=off", "GOSUMDB=off", "GOWORK=off"}
	run(t, shop, env, "go", "mod", "init", "example.com/shop")
	run(t, shop, env, "go", "mod", "edit", "-go="+oldest[1], "-require=github.com/go-zookeeper/zk@"+client[1])
	run(t, root, env, "sh", "-ec", strings.ReplaceAll(block(t, readme, "```sh\n"), "../shop", shop))
	mod := read(t, shop+"/go.mod")
	if strings.Count(mod, "require") != 1 || !strings.Contains(mod, "\ngo "+oldest[1]+"\n") {
		t.Errorf("the copy needs more than the client library, or another Go:\n%s", mod)
	}
	sources := files(t, filepath.Join(shop, "zklock"))
	if want := files(t, folder); !slices.Equal(sources, want) {
		t.Errorf("the copy has %q, want %q", sources, want)
	}
	for _, file := range sources {
		before, after := read(t, filepath.Join(folder, file)), read(t, filepath.Join(shop, "zklock", file))
		if filepath.Ext(file) != ".go" && before != after {
			t.Errorf("the copy has changed %s", file)
		}
		if strings.Contains(after, "orderstock") && filepath.Ext(file) == ".go" {
			t.Errorf("%s depends on this project", file)
		}
	}

	program := block(t, readme, "```go\n")
	writeFile(t, filepath.Join(shop, "main.go"),
		strings.ReplaceAll(program, "127.0.0.1:2181", serverstest.ZooKeeper(t).Addr()))
	example := block(t, read(t, folder+"/doc.go"), "in Apache ZooKeeper.\n//\n")
	writeFile(t, filepath.Join(shop, "example.go"), "package main\n\n"+
		"import (\n\t\"context\"\n\n\t\"example.com/shop/zklock\"\n)\n\n"+
		"func example(ctx context.Context, work func(context.Context, zklock.Token)) error {\n"+
		regexp.MustCompile(`(?m)^//\t?`).ReplaceAllString(example, "")+"}\n")

	run(t, shop, env, "go", "vet", "./...") // refuses what is newer than the module's Go
	if out := run(t, shop, env, "go", "run", "."); !strings.Contains(out, "send the token with each write: 0000") {
		t.Errorf("the program printed %q", out)
	}
	tests := filepath.Join(shop, "zklock.test")
	run(t, shop, env, "go", "test", "-c", "-o", tests, "./zklock")
	run(t, shop, env, "go", "test", "./zklock/internal/...")
	some := []string{"-test.short", "-test.run", "^(Example.*|TestFault.*|TestServerLosesItsData)$"}
	run(t, filepath.Join(shop, "zklock"), nil, tests, some...)
	// They say how to get a server when there is none, and take one that runs elsewhere.
	cmd := exec.CommandContext(t.Context(), tests, "-test.run", "^TestFaultL.*$")
	cmd.Dir, cmd.Env = filepath.Join(shop, "zklock"), []string{"PATH=/nowhere"}
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "apt-get install zookeeper") {
		t.Errorf("without Java, the tests end with %v and say %q", err, out)
	}
	elsewhere := []string{"PATH=/nowhere", "ZKLOCK_TEST_ZOOKEEPER=" + serverstest.ZooKeeper(t).Addr()}
	run(t, filepath.Join(shop, "zklock"), elsewhere, tests, "-test.run", "^TestFaultL.*$")
}

// The folder's licence is the project's, and its newest changes are those of its version.
func TestTheFolderIsComplete(t *testing.T) {
	if read(t, folder+"/LICENSE") != read(t, "../../../LICENSE") {
		t.Error("the licence differs from the project's")
	}
	newest := regexp.MustCompile(`(?m)^## (.*)$`).FindStringSubmatch(read(t, folder+"/CHANGES.md"))
	if newest == nil || newest[1] != zklock.Version {
		t.Errorf("CHANGES.md begins with %q, the version is %s", newest, zklock.Version)
	}
}

// files returns the paths of all files below dir, relative to it.
func files(t *testing.T, dir string) (all []string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(file string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			file, err = filepath.Rel(dir, file)
			all = append(all, file)
		}
		return err
	}))
	return all
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

func writeFile(t *testing.T, file, content string) {
	t.Helper()
	must(t, os.WriteFile(file, []byte(content), 0o600))
}

// run runs a command in a folder, with these settings besides the environment, and returns its output.
func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

var must = serverstest.Must
