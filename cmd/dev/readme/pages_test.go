package readme_test

import (
	"path/filepath"
	"strings"
	"testing"

	"orderstock/loadtest/tables"
)

// TestPagesOfFaults are as the code makes them, and show what happened in the variants.
func TestPagesOfFaults(t *testing.T) {
	t.Parallel()
	for _, f := range tables.Published {
		page := read(t, filepath.Join("..", "..", "..", filepath.FromSlash(f.PageFile())))
		played := tables.Played(page)
		if page != f.Page(played) {
			t.Errorf("%s is older than the code: run make readme", f.PageFile())
		}
		want := 2
		if f.Letter == "Q" {
			want = 1
		}
		if scenes := strings.Count(played, "\n| --: |"); scenes != want || !strings.Contains(played, "✗") {
			t.Errorf("%s shows %d runs, want %d, and what goes wrong", f.PageFile(), scenes, want)
		}
	}
}
