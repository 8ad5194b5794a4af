package history_test

import (
	"os"
	"path/filepath"
	"testing"

	"orderstock/loadtest/history"
)

func TestClear(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "out", "verdict.json")
	if err := history.SaveJSON(file, "old"); err != nil {
		t.Fatal(err)
	}
	if err := history.Clear(file, filepath.Join(dir, "other", "history.jsonl")); err != nil {
		t.Errorf("clear: %v", err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the old verdict is still there: %v", err)
	}
	// No user can write there, not even root.
	if err := os.Symlink(filepath.Join(dir, "gone"), filepath.Join(dir, "closed")); err != nil {
		t.Fatal(err)
	}
	if err := history.Clear(filepath.Join(dir, "closed", "verdict.json")); err == nil {
		t.Error("a run may begin, though its results cannot be written")
	}
}
