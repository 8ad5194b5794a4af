package system

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// Compose is a stack of the compose file.
type Compose struct {
	// Dir is the folder of docker-compose.yml.
	Dir string
	// Program is docker-compose or docker compose.
	Program []string
}

// NewCompose returns the module's compose file's stack. program is the compose program; "" stands for docker compose,
// or for docker-compose if only that is installed.
func NewCompose(ctx context.Context, program string) (c Compose, err error) {
	if c.Dir, err = ModuleRoot(); err != nil {
		return c, err
	}
	if c.Program = strings.Fields(program); len(c.Program) == 0 {
		c.Program, err = composeProgram(ctx)
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

// Command returns the compose program with the arguments.
func (p Compose) Command(ctx context.Context, args ...string) *exec.Cmd {
	all := slices.Concat(p.Program, args)
	cmd := exec.CommandContext(ctx, all[0], all[1:]...)
	cmd.Dir = p.Dir
	return cmd
}

// Run runs the compose program, and returns its output as Output does.
func (p Compose) Run(ctx context.Context, args ...string) (string, error) {
	return Output(p.Command(ctx, args...))
}

// Output runs a command and returns its output, trimmed. An error has the command's error output.
func Output(cmd *exec.Cmd) (string, error) {
	var failure strings.Builder
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, failure.String())
	}
	return strings.TrimSpace(string(out)), nil
}
