package system

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// compose is the stack of the module's compose file.
type compose struct {
	dir     string   // of docker-compose.yml
	program []string // docker-compose or docker compose
}

// newCompose returns the stack. program is as for AttachCompose.
func newCompose(ctx context.Context, program string) (*compose, error) {
	dir, err := ModuleRoot()
	if err != nil {
		return nil, err
	}
	c := &compose{dir, strings.Fields(program)}
	if len(c.program) == 0 {
		c.program, err = composeProgram(ctx)
	}
	return c, err
}

func composeProgram(ctx context.Context) ([]string, error) {
	if exec.CommandContext(ctx, "docker", "compose", "version").Run() == nil {
		return []string{"docker", "compose"}, nil
	}
	if path, err := exec.LookPath("docker-compose"); err == nil {
		return []string{path}, nil
	}
	return nil, errors.New("neither docker compose nor docker-compose is there: install one")
}

// command returns the compose program with the arguments.
func (c *compose) command(ctx context.Context, args ...string) *exec.Cmd {
	all := slices.Concat(c.program, args)
	cmd := exec.CommandContext(ctx, all[0], all[1:]...)
	cmd.Dir = c.dir
	return cmd
}

// run runs the compose program, and returns its output as the function output does.
func (c *compose) run(ctx context.Context, args ...string) (string, error) {
	return output(c.command(ctx, args...))
}

// output runs a command and returns its output, trimmed. An error has the command's error output.
func output(cmd *exec.Cmd) (string, error) {
	var failure strings.Builder
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, failure.String())
	}
	return strings.TrimSpace(string(out)), nil
}
