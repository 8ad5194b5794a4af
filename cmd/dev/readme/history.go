package readme

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// newest returns the newest commit at that time; "" if there was none, or without Git.
func newest(ctx context.Context, root string, at time.Time) string {
	id, _ := exec.CommandContext(ctx, "git", "-C", root, "log", "-1", "--first-parent", "--format=%h",
		"--before="+at.UTC().Format(time.RFC3339)).Output()
	return strings.TrimSpace(string(id))
}

// measured returns when the results in the file were written, and the newest commit at that time.
func (s sources) measured(name string) (string, error) {
	info, err := os.Stat(filepath.Join(s.out, name))
	if err != nil {
		return "", fmt.Errorf("date of %s: %w", name, err)
	}
	text := "Measured on " + info.ModTime().UTC().Format(time.DateOnly)
	if commit := s.commit(info.ModTime()); commit != "" {
		text += " with the code of `" + commit + "`"
	}
	return text, nil
}
