package system

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// Overlay writes the product's files with all patches applied into dir, with the file for "go build -overlay", whose
// path it returns. root is the folder of the product's go.mod. The error names the patch that does not apply.
func Overlay(root, dir string) (string, error) {
	patches, err := Patches()
	if err != nil {
		return "", err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", fmt.Errorf("write overlay: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("write overlay: %w", err)
	}
	return overlay(root, dir, patches)
}

func overlay(root, dir string, patches []Patch) (string, error) {
	edits := map[string][]edit{} // by the file's path relative to root
	for _, p := range patches {
		for _, f := range p.files {
			of, err := p.edits(root, f)
			if err != nil {
				return "", err
			}
			edits[f.OldName] = append(edits[f.OldName], of...)
		}
	}
	replace := map[string]string{}
	add := func(path, text string) error {
		to := filepath.Join(dir, strings.ReplaceAll(path, "/", "-")+".go")
		replace[filepath.Join(root, path)] = to
		return writeWhole(to, []byte(text))
	}
	for path, of := range edits {
		text, err := apply(root, path, of)
		if err != nil {
			return "", err
		}
		if err := add(path, text); err != nil {
			return "", fmt.Errorf("write overlay: %w", err)
		}
		if err := add(filepath.Join(filepath.Dir(path), "mutants_overlay.go"), switchOf(text)); err != nil {
			return "", fmt.Errorf("write overlay: %w", err)
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", fmt.Errorf("write overlay: %w", err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := writeWhole(file, list); err != nil {
		return "", fmt.Errorf("write overlay: %w", err)
	}
	return file, nil
}

// writeWhole writes a file as a whole: another process may be compiling from it.
func writeWhole(path string, text []byte) error {
	next, err := os.CreateTemp(filepath.Dir(path), "next-")
	if err != nil {
		return err
	}
	_, err = next.Write(text)
	if err := errors.Join(err, next.Chmod(0o644), next.Close()); err != nil {
		return errors.Join(err, os.Remove(next.Name()))
	}
	return os.Rename(next.Name(), path)
}

// edit replaces drop lines of a file, from line at. Lines count from 0.
type edit struct {
	patch    string
	at, drop int
	add      []string
}

// edits returns the patch's changes to a file, by the lines of the product: one for each fragment, without the context
// around it.
func (p Patch) edits(root string, f *gitdiff.File) ([]edit, error) {
	lines, err := readLines(root, f.OldName)
	if err != nil {
		return nil, fmt.Errorf("patch %s does not apply: %w", p.Name, err)
	}
	var all []edit
	for _, fragment := range f.TextFragments {
		var old, changed []string
		for _, line := range fragment.Lines {
			if line.Old() {
				old = append(old, line.Line)
			}
			if line.New() {
				changed = append(changed, line.Line)
			}
		}
		at, ok := find(lines, old, int(fragment.OldPosition)-1)
		if !ok {
			return nil, fmt.Errorf("patch %s does not apply: %s has no lines like those around %d any more", p.Name, f.OldName,
				fragment.OldPosition)
		}
		before, after := int(fragment.LeadingContext), int(fragment.TrailingContext)
		all = append(all, edit{
			patch: p.Name, at: at + before, drop: len(old) - before - after, add: changed[before : len(changed)-after],
		})
	}
	return all, nil
}

// find returns the index of want in lines that is nearest to near.
func find(lines, want []string, near int) (at int, ok bool) {
	for i := 0; i+len(want) <= len(lines); i++ {
		if slices.Equal(lines[i:i+len(want)], want) && (!ok || abs(i-near) < abs(at-near)) {
			at, ok = i, true
		}
	}
	return at, ok
}

func abs(n int) int { return max(n, -n) }

// apply returns the file's text after the edits. Two patches must not change the same lines.
func apply(root, path string, edits []edit) (string, error) {
	lines, err := readLines(root, path)
	if err != nil {
		return "", err
	}
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.at, b.at) })
	var text strings.Builder
	next := 0
	for i, e := range edits {
		if e.at < next {
			return "", fmt.Errorf("patches %s and %s change the same lines of %s", edits[i-1].patch, e.patch, path)
		}
		text.WriteString(strings.Join(lines[next:e.at], ""))
		text.WriteString(strings.Join(e.add, ""))
		next = e.at + e.drop
	}
	text.WriteString(strings.Join(lines[next:], ""))
	return text.String(), nil
}

func readLines(root, path string) ([]string, error) {
	data, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		return nil, fmt.Errorf("read product: %w", err)
	}
	return slices.Collect(strings.Lines(string(data))), nil
}

// switchOf returns the file that defines mutant in the package of a patched file.
func switchOf(text string) string {
	var clause string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "package ") {
			clause = line
			break
		}
	}
	return clause + `
import (
	"os"
	"slices"
	"strings"
)

var mutants = strings.Split(os.Getenv("MUTANT"), ",")

// mutant reports whether the process runs as the mutant of that name.
func mutant(name string) bool { return slices.Contains(mutants, name) }
`
}
