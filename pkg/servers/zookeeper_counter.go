package servers

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"orderstock/pkg/servers/programs"
)

//go:embed SetChildCounter.java
var setChildCounter []byte

// SetChildCounter raises the counter for the next sequential child of each of the nodes at paths, which must exist. It
// stops the server, changes its data with a program that uses the server's classes, and starts it again. It needs a
// Java compiler. Use it for a standalone server only: the other members of an ensemble would keep other data.
func (z *ZooKeeper) SetChildCounter(ctx context.Context, next int32, paths ...string) error {
	if err := z.setChildCounter(ctx, next, paths); err != nil {
		return fmt.Errorf("set child counter of %q at %s: %w", paths, z.Name(), err)
	}
	return nil
}

func (z *ZooKeeper) setChildCounter(ctx context.Context, next int32, paths []string) error {
	java, classpath, err := programs.ZooKeeper()
	if err != nil {
		return err
	}
	if _, err := programs.Javac(); err != nil {
		return err
	}
	if err := z.Stop(ctx); err != nil {
		return err
	}
	source := filepath.Join(z.spec.Dir, "SetChildCounter.java")
	if err := os.WriteFile(source, setChildCounter, 0o644); err != nil {
		return err
	}
	args := append([]string{"-cp", classpath, source, filepath.Join(z.spec.Dir, "data"), strconv.Itoa(int(next))},
		paths...)
	if out, err := exec.CommandContext(ctx, java, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return z.Restart(ctx)
}
