package system

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

//go:embed patches/*.patch
var files embed.FS

// Patch is a mutant.
type Patch struct {
	// Name is its switch.
	Name string
	// Title names the defect. The file says more of its effect.
	Title string
	// CaughtBy is the invariant that must catch it.
	CaughtBy string

	files []*gitdiff.File
}

// Patches returns the patches by name.
func Patches() ([]Patch, error) {
	entries, err := fs.ReadDir(files, "patches")
	if err != nil {
		return nil, fmt.Errorf("read patches: %w", err)
	}
	all := make([]Patch, len(entries))
	for i, entry := range entries {
		text, err := files.ReadFile(path.Join("patches", entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("read patches: %w", err)
		}
		if all[i], err = parse(strings.TrimSuffix(entry.Name(), ".patch"), text); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func parse(name string, text []byte) (Patch, error) {
	diffs, preamble, err := gitdiff.Parse(bytes.NewReader(text))
	if err != nil {
		return Patch{}, fmt.Errorf("patch %s: %w", name, err)
	}
	p := Patch{Name: name, files: diffs}
	for line := range strings.Lines(preamble) {
		line = strings.TrimSpace(line)
		if by, ok := strings.CutPrefix(line, "Caught-By: "); ok {
			p.CaughtBy = by
		} else {
			p.Title = cmp.Or(p.Title, line)
		}
	}
	if p.Title == "" || p.CaughtBy == "" || len(diffs) == 0 {
		return Patch{}, fmt.Errorf("patch %s: want a title, a line Caught-By and a diff", name)
	}
	return p, nil
}
