// Package shell runs the commands of a shop's file.
package shell

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"orderstock/pkg/servers"
)

// Run runs a line of the shell in the folder dir, with input as its standard input, and returns its standard output. It
// returns as soon as the command has ended: a process that the command leaves in the background goes on and is not
// waited for. If ctx ends before, the command and all its processes are killed. An error has the command's output.
func Run(ctx context.Context, dir, line, input string) (output string, err error) {
	var files [3]*os.File // not pipes, which would be open as long as any process has them
	for i := range files {
		if files[i], err = os.CreateTemp("", "loadtest-judge-*"); err != nil {
			return "", fmt.Errorf("run %q: %w", line, err)
		}
		defer func(f *os.File) { _ = f.Close() }(files[i])
		if err := os.Remove(files[i].Name()); err != nil { // the open file is enough
			return "", fmt.Errorf("run %q: %w", line, err)
		}
	}
	in, out, errs := files[0], files[1], files[2]
	if _, err := in.WriteAt([]byte(input), 0); err != nil {
		return "", fmt.Errorf("run %q: %w", line, err)
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, in, out, errs
	servers.Lead(cmd)
	cmd.Cancel = func() error { return servers.Group(cmd.Process.Pid).Kill() }
	if failed := cmd.Run(); failed != nil {
		says, err := text(errs)
		if err == nil && says == "" {
			says, err = text(out)
		}
		if err != nil {
			return "", err
		}
		return "", fmt.Errorf("%w: %s", failed, strings.TrimSpace(says))
	}
	return text(out)
}

// text returns a file from its beginning.
func text(f *os.File) (string, error) {
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("read the output: %w", err)
	}
	read, err := io.ReadAll(io.NewSectionReader(f, 0, info.Size()))
	if err != nil {
		return "", fmt.Errorf("read the output: %w", err)
	}
	return string(read), nil
}
