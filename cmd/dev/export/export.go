// Package export writes pkg/zklock as a separate module, for use outside this repository.
package export

import (
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

const (
	folder = "pkg/zklock"
	origin = "orderstock/pkg/zklock"
)

// goMod is the exported go.mod: module, version of the ZooKeeper client, version of goleak. The versions of
// golang.org/x are the newest that the oldest supported Go, named here, can compile.
const goMod = `module %s

go 1.25.0

require (
	github.com/go-zookeeper/zk %s
	golang.org/x/sync v0.20.0
	golang.org/x/time v0.15.0
)

// Only the tests need the following.
require go.uber.org/goleak %s
`

// outside lists the permitted imports apart from the package and the standard library.
var outside = regexp.MustCompile(`^(github\.com/go-zookeeper/zk|golang\.org/x/(sync|time)/\w+|go\.uber\.org/goleak)$`)

// Module writes the package as the module named module into dir, which must not exist or be empty: its code,
// tests and documentation, with import paths rewritten, the licence, go.mod and go.sum. root is the folder of
// this repository. It fails if a file imports something else of this repository, or a module that go.mod
// does not name. It runs go mod tidy, which may download the modules.
func Module(ctx context.Context, root, module, dir string) error {
	if err := write(root, module, dir); err != nil {
		return fmt.Errorf("export %s: %w", folder, err)
	}
	tidy := exec.CommandContext(ctx, "go", "mod", "tidy")
	tidy.Dir = dir
	if out, err := tidy.CombinedOutput(); err != nil {
		return fmt.Errorf("export %s: go mod tidy: %w\n%s", folder, err, out)
	}
	return nil
}

func write(root, module, dir string) error {
	if there, err := os.ReadDir(dir); len(there) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the folder %s is not empty: %w", dir, errors.Join(err, fs.ErrExist))
	}
	source := filepath.Join(root, filepath.FromSlash(folder))
	err := filepath.WalkDir(source, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		rel, err := filepath.Rel(source, file)
		if err != nil {
			return err
		}
		if err := checkImports(file); err != nil {
			return err
		}
		return rewrite(file, filepath.Join(dir, rel), module)
	})
	if err != nil {
		return err
	}
	if err := rewrite(filepath.Join(root, "LICENSE"), filepath.Join(dir, "LICENSE"), module); err != nil {
		return err
	}
	here, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return err
	}
	content := fmt.Sprintf(goMod, module, version(here, "github.com/go-zookeeper/zk"), version(here, "go.uber.org/goleak"))
	return os.WriteFile(filepath.Join(dir, "go.mod"), []byte(content), 0o644)
}

// rewrite copies a file, with the module's path in place of this repository's.
func rewrite(from, to, module string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, []byte(strings.ReplaceAll(string(content), origin, module)), 0o644)
}

// checkImports fails if a Go file imports a package that the exported module lacks.
func checkImports(file string) error {
	if filepath.Ext(file) != ".go" {
		return nil
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		return err
	}
	for _, spec := range parsed.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		first, _, _ := strings.Cut(name, "/")
		own := name == origin || strings.HasPrefix(name, origin+"/")
		standard := !strings.Contains(first, ".") && first != "orderstock"
		if !own && !standard && !outside.MatchString(name) {
			return fmt.Errorf("%s imports %s, which users of the package do not have", file, name)
		}
	}
	return nil
}

// version returns the version of a required module.
func version(goMod []byte, module string) string {
	m := regexp.MustCompile(`\s` + regexp.QuoteMeta(module) + ` (v\S+)`).FindSubmatch(goMod)
	if m == nil {
		return "latest" // go mod tidy finds it
	}
	return string(m[1])
}
