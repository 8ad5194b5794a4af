package readme

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"orderstock/loadtest/tables"
	"orderstock/loadtest/texts"
)

// pages writes the page of each fault in all languages, with the last run of both variants in the folder out. A page
// without one keeps the run that it has.
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
		for _, l := range texts.Languages() {
			err = errors.Join(err, os.WriteFile(l.File(file), []byte(l.Document(f.Page(run))), 0o644))
		}
		if err != nil {
			return fmt.Errorf("page of fault %s: %w", f.Letter, err)
		}
	}
	return nil
}
