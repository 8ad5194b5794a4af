package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"orderstock/pkg/command/commandtest"
)

const root = "../.."

// others are programs that are not checked.
var others = []string{
	"git", "mkdir", "curl", "cp", "find", "grep", "xargs", "sed", "rm", "cd", "id", "[", ".", "docker",
}

// TestCommandsExist: workflows and documents call only targets, packages, tests, scripts and programs that are there.
// The tests of each program check its arguments.
func TestCommandsExist(t *testing.T) {
	t.Parallel()
	workflows, documents := commandtest.Workflows(t, root), commandtest.Documents(t, root)
	if len(workflows) < 20 || len(documents) < 60 {
		t.Errorf("the workflows have %d commands, the documents %d", len(workflows), len(documents))
	}
	for _, c := range slices.Concat(workflows, documents) {
		switch {
		case c.Program == "make":
			makes(t, c)
		case c.Program == "go":
			goes(t, c)
		case c.Program == "docker-compose":
			composes(t, c)
		case strings.ContainsRune(c.Program, '/'):
			if info, err := os.Stat(filepath.Join(root, c.Program)); err != nil || info.Mode()&0o111 == 0 {
				t.Errorf("%s: no such script", c)
			}
		case !slices.Contains(others, c.Program):
			if _, err := os.Stat(filepath.Join(root, "cmd", c.Program, "main.go")); err != nil {
				t.Errorf("%s: no such program", c)
			}
		}
	}
	commandtest.Check(t, root, newCommand)
}

// makes checks the targets and the variables of a call of make.
func makes(t *testing.T, c commandtest.Call) {
	t.Helper()
	for _, arg := range c.Args {
		if name, _, set := strings.Cut(arg, "="); set {
			if all, err := variables(); err != nil || !all[name] {
				t.Errorf("%s: nothing reads %s (%v)", c, name, err)
			}
			continue
		}
		dry := exec.CommandContext(t.Context(), "make", "-C", root, "--no-print-directory", "-n", arg)
		if out, err := dry.CombinedOutput(); err != nil {
			t.Errorf("%s: %s", c, out)
		}
	}
}

// variables are those that the Makefile reads.
var variables = sync.OnceValues(func() (map[string]bool, error) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for _, m := range readsVariable.FindAllStringSubmatch(string(makefile), -1) {
		all[m[1]] = true
	}
	return all, nil
})

var (
	readsVariable = regexp.MustCompile(`\$\((?:if \$\()?([A-Z_]+)\)`)
	testFunction  = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark|Example)\w*)\(`)
)

// goes checks the packages of a call of the go command, and that they have the named tests, flags and variables.
func goes(t *testing.T, c commandtest.Call) {
	t.Helper()
	if len(c.Args) == 0 || c.Args[0] != "test" && c.Args[0] != "run" {
		return
	}
	args, own := c.Args, []string(nil)
	if at := slices.Index(args, "-args"); at >= 0 {
		args, own = args[:at], args[at+1:]
	}
	var source string
	for _, arg := range args {
		if folder, inModule := strings.CutPrefix(arg, "./"); inModule {
			text, err := sources(filepath.Join(root, folder))
			if err != nil || text == "" {
				t.Errorf("%s: no package %s (%v)", c, arg, err)
			}
			source += text
		}
	}
	for i, arg := range args[:len(args)-1] {
		if (arg == "-run" || arg == "-fuzz" || arg == "-bench") && args[i+1] != "^$" {
			chosen, err := regexp.Compile(args[i+1])
			if err != nil || !slices.ContainsFunc(testFunction.FindAllStringSubmatch(source, -1),
				func(m []string) bool { return chosen.MatchString(m[1]) }) {
				t.Errorf("%s: no test %s (%v)", c, args[i+1], err)
			}
		}
	}
	for _, arg := range own {
		if name, isFlag := strings.CutPrefix(arg, "-"); isFlag && !strings.Contains(source, `("`+name+`", `) {
			t.Errorf("%s: no flag -%s", c, name)
		}
	}
	for _, name := range c.Env {
		if !strings.Contains(source, `"`+name+`"`) && !strings.HasPrefix(name, "GO") {
			t.Errorf("%s: nothing reads %s", c, name)
		}
	}
}

// sources returns the text of the Go files in a folder or, if it ends with "...", in all folders below.
func sources(folder string) (string, error) {
	below, deep := strings.CutSuffix(folder, "...")
	var all strings.Builder
	err := filepath.WalkDir(below, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != below && !deep:
			return filepath.SkipDir
		case filepath.Ext(path) != ".go":
			return nil
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	return all.String(), err
}

// composes checks the files and the services of a call of docker-compose.
func composes(t *testing.T, c commandtest.Call) {
	t.Helper()
	services := commandtest.Services(t, root)
	for i, arg := range c.Args {
		var before string
		if i > 0 {
			before = c.Args[i-1]
		}
		name, _, _ := strings.Cut(arg, "=")
		switch _, known := services[name]; {
		case before == "-f":
			if _, err := os.Stat(filepath.Join(root, arg)); err != nil {
				t.Errorf("%s: no file %s", c, arg)
			}
		case (before == "--scale" || before == "logs" && !strings.HasPrefix(arg, "-")) && !known:
			t.Errorf("%s: no service %s", c, name)
		}
	}
}
