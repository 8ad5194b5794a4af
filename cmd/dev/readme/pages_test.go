package readme_test

import (
	"path/filepath"
	"strings"
	"testing"

	"orderstock/loadtest/tables"
	"orderstock/loadtest/texts"
)

// TestPagesOfFaults are as the code makes them, in all languages, and show what happened in the variants.
func TestPagesOfFaults(t *testing.T) {
	t.Parallel()
	for _, f := range tables.Published {
		page := read(t, filepath.Join("..", "..", "..", filepath.FromSlash(f.PageFile())))
		played := tables.Played(page)
		for _, l := range texts.Languages() {
			file := l.File(f.PageFile())
			if read(t, filepath.Join("..", "..", "..", filepath.FromSlash(file))) != l.Document(f.Page(played)) {
				t.Errorf("%s is older than the code: run make readme", file)
			}
		}
		differ, _, _ := strings.Cut(played, "**As it runs here")
		if scenes := strings.Count(differ, "\n| --: |"); scenes != 2 || !strings.Contains(played, "✗") {
			t.Errorf("%s shows %d runs, want broken and fixed, and what goes wrong", f.PageFile(), scenes)
		}
		parts := []string{f.Title, f.Says, strings.TrimSpace(f.Idea), f.Fix, f.Source.File, f.Lesson(), "FAULT=" + f.Letter}
		for _, test := range f.Tests {
			parts = append(parts, test.Name)
		}
		for _, part := range parts {
			if !strings.Contains(page, part) {
				t.Errorf("%s lacks %q", f.PageFile(), part)
			}
		}
	}
}
