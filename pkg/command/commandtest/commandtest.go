// Package commandtest reads the commands that workflows and documents name, so that tests can check that they exist.
package commandtest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
	"mvdan.cc/sh/v3/syntax"
)

// Call is a command of a workflow or a document. A call of "go run ./cmd/NAME", of bin/NAME, and of a program in a
// container of the compose files, is a call of that program.
type Call struct {
	// File names the call.
	File string
	// Env are the names of the variables set for it.
	Env     []string
	Program string
	Args    []string
}

func (c Call) String() string {
	return c.File + ": " + strings.Join(append([]string{c.Program}, c.Args...), " ")
}

// Workflows returns all calls of the workflows. root is the folder of the module, here and below.
func Workflows(t *testing.T, root string) (calls []Call) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		var flow struct {
			Jobs map[string]struct{ Steps []struct{ Run string } }
		}
		if err := yaml.Unmarshal(read(t, file), &flow); err != nil {
			t.Fatalf("read %s: %v", file, err)
		}
		for _, job := range flow.Jobs {
			for _, step := range job.Steps {
				calls = append(calls, parse(t, root, file, step.Run)...)
			}
		}
	}
	return calls
}

var (
	fenced   = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```")
	indented = regexp.MustCompile(`(?m)(?:\A|\n\n)((?:    .*\n)+)`)
	span     = regexp.MustCompile("`([^`]+)`")
	prompted = regexp.MustCompile(`(?m)^\$ (.*)$`)
	// names are the programs whose calls are documented.
	names = regexp.MustCompile(
		`^(bin/\w+|make|go|docker|docker-compose|loadtest|judge|migrate|(order|stock)-service)( |$)`)
)

// Documents returns the calls in the code of the documents, but for the list of changes, which names commands that are
// gone.
func Documents(t *testing.T, root string) (calls []Call) {
	t.Helper()
	for _, pattern := range []string{"*.md", "*/*.md", "*/*/*.md", "*/*/*/*.md", ".github/*.md"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if filepath.Base(file) != "CHANGELOG.md" {
				calls = append(calls, document(t, root, file)...)
			}
		}
	}
	return calls
}

func document(t *testing.T, root, file string) (calls []Call) {
	t.Helper()
	text := string(read(t, file))
	for _, block := range fenced.FindAllStringSubmatch(text, -1) {
		switch block[1] {
		case "sh":
			calls = append(calls, parse(t, root, file, block[2])...)
		case "console":
			for _, line := range prompted.FindAllStringSubmatch(block[2], -1) {
				calls = append(calls, parse(t, root, file, line[1])...)
			}
		}
	}
	text = fenced.ReplaceAllString(text, "")
	var code []string
	for _, block := range indented.FindAllString(text, -1) {
		code = append(code, strings.Split(block, "\n")...)
	}
	for _, inline := range span.FindAllStringSubmatch(indented.ReplaceAllString(text, "\n"), -1) {
		code = append(code, strings.ReplaceAll(inline[1], "\n", " "))
	}
	for _, line := range code {
		if line = strings.TrimSpace(line); names.MatchString(line) {
			calls = append(calls, parse(t, root, file, line)...)
		}
	}
	return calls
}

// parse returns the calls of a shell script.
func parse(t *testing.T, root, file, script string) (calls []Call) {
	t.Helper()
	parsed, err := syntax.NewParser().Parse(strings.NewReader(script), file)
	if err != nil {
		t.Errorf("%v in:\n%s", err, script)
		return nil
	}
	syntax.Walk(parsed, func(node syntax.Node) bool {
		if call, ok := node.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			c := Call{File: strings.TrimPrefix(file, root+"/")}
			for _, set := range call.Assigns {
				c.Env = append(c.Env, set.Name.Value)
			}
			var all []string
			for _, word := range call.Args {
				all = append(all, text(script, word))
			}
			c.Program, c.Args = all[0], all[1:]
			calls = append(calls, resolve(t, root, c))
		}
		return true
	})
	return calls
}

// text returns the word without its quotes; expansions stay as they are written.
func text(script string, word *syntax.Word) string {
	var b strings.Builder
	for _, part := range word.Parts {
		written := script[part.Pos().Offset():part.End().Offset()]
		switch part.(type) {
		case *syntax.SglQuoted, *syntax.DblQuoted:
			written = written[1 : len(written)-1]
		}
		b.WriteString(written)
	}
	return b.String()
}

// resolve replaces what starts a program of this project by that program.
func resolve(t *testing.T, root string, c Call) Call {
	t.Helper()
	switch {
	case strings.HasPrefix(c.Program, "bin/"):
		c.Program = strings.TrimPrefix(c.Program, "bin/")
		return resolve(t, root, c)
	case c.Program == "loadtest" && len(c.Args) > 0 && c.Args[0] == "judge":
		c.Program, c.Args = "judge", c.Args[1:]
	case c.Program == "go" && len(c.Args) > 1 && c.Args[0] == "run":
		at := slices.IndexFunc(c.Args, func(arg string) bool { return strings.HasPrefix(arg, "./cmd/") })
		if at > 0 {
			c.Program, c.Args = strings.TrimPrefix(c.Args[at], "./cmd/"), c.Args[at+1:]
		}
	case c.Program == "docker" && len(c.Args) > 0 && c.Args[0] == "compose":
		c.Program, c.Args = "docker-compose", c.Args[1:]
		return resolve(t, root, c)
	case c.Program == "docker-compose":
		at := slices.IndexFunc(c.Args, func(arg string) bool { return arg == "run" || arg == "exec" })
		if at < 0 {
			return c
		}
		inside := c.Args[at+1:]
		for len(inside) > 0 && strings.HasPrefix(inside[0], "-") { // none of the flags in use has a value
			inside = inside[1:]
		}
		if len(inside) == 0 {
			t.Errorf("%s: no service", c)
			return c
		}
		entry, known := Services(t, root)[inside[0]]
		if !known {
			t.Errorf("%s: no service %s", c, inside[0])
		}
		inside = inside[1:]
		if c.Args[at] == "run" {
			inside = append(slices.Clone(entry), inside...)
		}
		if len(inside) > 0 {
			c.Program, c.Args = inside[0], inside[1:]
		}
	}
	return c
}

// Services returns the services of the compose files, with their entry points.
func Services(t *testing.T, root string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, file := range []string{"docker-compose.yml", ".compose/cluster.yml"} {
		var compose struct {
			Services map[string]struct{ Entrypoint []string }
		}
		text := read(t, filepath.Join(root, file)) // a key may repeat one of "<<"
		if err := yaml.UnmarshalWithOptions(text, &compose, yaml.AllowDuplicateMapKey()); err != nil {
			t.Fatalf("read %s: %v", file, err)
		}
		for name, service := range compose.Services {
			if len(service.Entrypoint) > 0 || all[name] == nil {
				all[name] = service.Entrypoint
			}
		}
	}
	return all
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Check fails the test for each call of a program in the workflows and documents that its command line would not take.
// It executes none of them. It returns the number of the program's calls.
func Check(t *testing.T, root string, program func() *cobra.Command) (checked []Call) {
	t.Helper()
	for _, c := range slices.Concat(Workflows(t, root), Documents(t, root)) {
		if c.Program != program().Name() {
			continue
		}
		checked = append(checked, c)
		for i, arg := range c.Args {
			if arg == "N" { // any number
				c.Args[i] = "1"
			}
		}
		cmd, rest, err := program().Find(c.Args)
		if err == nil {
			cmd.InitDefaultHelpFlag()
			err = cmd.ParseFlags(rest)
		}
		if err == nil && cmd.HasSubCommands() && !cmd.Runnable() && cmd.Flags().NArg() > 0 {
			err = cobra.NoArgs(cmd, cmd.Flags().Args())
		}
		if err == nil && cmd.Runnable() && len(rest) > 0 {
			err = cmd.ValidateArgs(cmd.Flags().Args())
		}
		if err != nil {
			t.Errorf("%s: %v", c, err)
		}
	}
	return checked
}
