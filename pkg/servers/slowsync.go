package servers

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"orderstock/pkg/servers/programs"
)

//go:embed slowsync/slowsync.c
var slowSyncSource []byte

// slowSync compiles a library into dir and returns the environment that makes a program's writes to
// disk take longer by d.
func slowSync(ctx context.Context, dir string, d time.Duration) ([]string, error) {
	gcc, err := programs.GCC.Find()
	if err != nil {
		return nil, fmt.Errorf("slow the disk down: %w", err)
	}
	source, library := filepath.Join(dir, "slowsync.c"), filepath.Join(dir, "slowsync.so")
	if err := os.WriteFile(source, slowSyncSource, 0o644); err != nil {
		return nil, fmt.Errorf("slow the disk down: %w", err)
	}
	out, err := exec.CommandContext(ctx, gcc, "-shared", "-fPIC", "-o", library, source, "-ldl").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("slow the disk down: compile %s: %w\n%s", source, err, out)
	}
	return []string{"LD_PRELOAD=" + library, fmt.Sprintf("SLOWSYNC_MS=%d", d.Milliseconds())}, nil
}
