package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Build compiles commands of the module at root into the folder bin, with
// further flags of "go build". The commands are named as their folders in cmd:
// "order-service".
func Build(ctx context.Context, root, bin string, flags []string, commands ...string) error {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return fmt.Errorf("build: %w", err)
	}
	args := slices.Concat([]string{"build", "-trimpath", "-buildvcs=false", "-o", bin + string(filepath.Separator)}, flags)
	for _, c := range commands {
		args = append(args, "./cmd/"+c)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", strings.Join(commands, ", "), err, out)
	}
	return nil
}

// ModuleRoot returns the folder of the go.mod file at or above the working directory.
func ModuleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("find the module: no go.mod here or above; run this inside the repository")
		}
		dir = parent
	}
}
