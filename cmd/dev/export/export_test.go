package export

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const module = "example.com/you/zklock"

// The exported module compiles, with its tests, and names nothing of this repository. So nothing in the
// package, its tests included, imports the rest of the repository.
// It takes 18 s: under its new name, the package is compiled once more.
func TestExportedModuleCompiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "zklock")
	if err := Module(t.Context(), filepath.Join("..", "..", ".."), module, dir); err != nil {
		t.Fatal(err)
	}
	vet := exec.CommandContext(t.Context(), "go", "vet", "./...")
	vet.Dir = dir
	if out, err := vet.CombinedOutput(); err != nil {
		t.Errorf("go vet: %v\n%s", err, out)
	}
	content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	runtime, tests, _ := strings.Cut(string(content), "// Only the tests")
	if strings.Count(runtime, "\n\t") != 3 || strings.Count(tests, " v") != 1 {
		t.Errorf("go.mod requires other than three modules and one for the tests:\n%s", content)
	}
	for _, file := range []string{"LICENSE", "README.md", "doc.go", "zklocktest/doc.go", "example_test.go", "go.sum"} {
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(file))); err != nil {
			t.Error(err)
		}
	}
	if err := Module(t.Context(), filepath.Join("..", "..", ".."), module, dir); err == nil {
		t.Error("a folder that is not empty was written to")
	}
}

func TestImportsOfTheRestAreRefused(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]bool{
		"orderstock/pkg/retry":               true,
		"orderstock/pkg/zklocks":             true,
		"github.com/google/uuid":             true,
		"orderstock/pkg/zklock":              false,
		"orderstock/pkg/zklock/internal/zip": false,
		"github.com/go-zookeeper/zk":         false,
		"golang.org/x/sync/errgroup":         false,
		"net/http":                           false,
	} {
		file := filepath.Join(t.TempDir(), "a.go")
		if err := os.WriteFile(file, []byte("package a\n\nimport _ \""+name+"\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := checkImports(file); (err != nil) != refused {
			t.Errorf("import of %s: %v", name, err)
		}
	}
}
