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

type commit struct {
	id   string
	made time.Time
}

// history returns the known commits, newest first; none without Git.
func history(ctx context.Context, root string) (all []commit) {
	lines, err := exec.CommandContext(ctx, "git", "-C", root, "log", "--first-parent", "--format=%h %cI").Output()
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(lines)) {
		id, date, _ := strings.Cut(strings.TrimSpace(line), " ")
		if made, err := time.Parse(time.RFC3339, date); err == nil {
			all = append(all, commit{id, made})
		}
	}
	return all
}

// measured returns when the results in the file were written, and the newest commit at that time.
func (s sources) measured(name string) (string, error) {
	info, err := os.Stat(filepath.Join(s.out, name))
	if err != nil {
		return "", fmt.Errorf("date of %s: %w", name, err)
	}
	text := "Measured on " + info.ModTime().UTC().Format(time.DateOnly)
	for _, c := range s.history {
		if !c.made.After(info.ModTime()) {
			return text + " with the code of `" + c.id + "`", nil
		}
	}
	return text, nil
}
