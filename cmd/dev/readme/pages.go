package readme

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"orderstock/loadtest/tables"
)

// pages writes the page of each fault, with the last run of both variants in the folder out. A page without one keeps
// the run that it has.
func pages(root, out string) error {
	var played tables.Pairs
	data, err := os.ReadFile(filepath.Join(out, "tour.json"))
	if err == nil {
		err = json.Unmarshal(data, &played)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read tour.json: %w", err)
	}
	for _, f := range tables.Published {
		file := filepath.Join(root, filepath.FromSlash(f.PageFile()))
		before, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("page of fault %s: %w", f.Letter, err)
		}
		run := tables.Played(string(before))
		for _, p := range played {
			if p.Letter == f.Letter && p.BrokenScene != nil {
				run = p.Played()
			}
		}
		err = os.MkdirAll(filepath.Dir(file), 0o755)
		if err = errors.Join(err, os.WriteFile(file, []byte(f.Page(run)), 0o644)); err != nil {
			return fmt.Errorf("page of fault %s: %w", f.Letter, err)
		}
	}
	return nil
}
