package readme_test

import (
	"os"
	"path/filepath"
	"testing"

	"orderstock/cmd/dev/readme"
)

func TestSetReplacesOnlyItsSection(t *testing.T) {
	file := filepath.Join(t.TempDir(), "README.md")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := func(text string) {
		t.Helper()
		got, err := os.ReadFile(file)
		if err != nil || string(got) != text {
			t.Errorf("got %q (%v), want %q", got, err, text)
		}
	}
	write("a\n<!-- x:begin -->\nold\n<!-- x:end -->\nb\n<!-- y:begin -->\nkeep\n<!-- y:end -->\n")
	for range 2 { // twice is the same as once
		if err := readme.Set(file, "x", "new\n"); err != nil {
			t.Fatal(err)
		}
		want("a\n<!-- x:begin -->\nnew\n<!-- x:end -->\nb\n<!-- y:begin -->\nkeep\n<!-- y:end -->\n")
	}
	if err := readme.Set(file, "z", "new"); err == nil {
		t.Error("a section that is not there was set")
	}
	want("a\n<!-- x:begin -->\nnew\n<!-- x:end -->\nb\n<!-- y:begin -->\nkeep\n<!-- y:end -->\n")
}
