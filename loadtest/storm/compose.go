package storm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/system"
	"orderstock/loadtest/trial"
)

// Action is a way to break a container.
type Action string

// The ways to break a container.
const (
	Kill    Action = "kill"    // restarted a moment later
	Pause   Action = "pause"   // for a while
	Restart Action = "restart" // gracefully
)

var actions = []Action{Kill, Pause, Restart}

// Fault is one thing that broke.
type Fault struct {
	Container string `json:"container"`
	Action    Action `json:"action"`
}

func (f Fault) String() string { return fmt.Sprintf("%s %s", f.Action, f.Container) }

const (
	gone   = time.Second     // how long a killed container stays down
	frozen = 4 * time.Second // how long a container stays paused
)

// services are the services of the compose file that can break; each may have several containers.
var services = []string{"mysql", "redis", "zookeeper", "stock-service", "order-service", "front"}

type container struct{ id, name string }

// project is a stack of the compose file.
type project struct{ system.Compose }

// errDown is the advice if a part of the stack is missing.
var errDown = errors.New(
	`the stack is not up: run "docker-compose up -d --build" first, with the same COMPOSE_PROJECT_NAME`)

// containers returns all containers that can break.
func (c project) containers(ctx context.Context) (all []container, err error) {
	for _, service := range services {
		ids, err := c.Run(ctx, "ps", "-q", service)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errDown, err)
		}
		for i, id := range strings.Fields(ids) {
			all = append(all, container{id, fmt.Sprintf("%s-%d", service, i+1)})
		}
		if ids == "" {
			return nil, fmt.Errorf("%w: there is no %s", errDown, service)
		}
	}
	return all, nil
}

// target returns the published ports, and the token.
func (c project) target(ctx context.Context) (fire.Target, error) {
	order, err := c.Run(ctx, "port", "front", "8000")
	if err != nil {
		return fire.Target{}, err
	}
	stock, err := c.Run(ctx, "port", "front", "8081")
	if err != nil {
		return fire.Target{}, err
	}
	token, err := c.Run(ctx, "exec", "-T", "console", "loadtest", "token")
	return fire.Target{
		OrderURLs: []string{"http://" + order}, StockURLs: []string{"http://" + stock}, StockToken: token,
	}, err
}

// strike breaks a container and mends it, even if ctx ends.
func (c project) strike(ctx context.Context, target container, action Action) error {
	docker := func(args ...string) error {
		_, err := system.Output(exec.CommandContext(context.WithoutCancel(ctx), "docker", append(args, target.id)...))
		return err
	}
	var away time.Duration
	var mend string
	switch action {
	case Restart:
		return docker("restart")
	case Kill:
		away, mend = gone, "start"
	case Pause:
		away, mend = frozen, "unpause"
	}
	if err := docker(string(action)); err != nil {
		return err
	}
	return errors.Join(trial.Sleep(ctx, away), docker(mend))
}

// verify judges the history in the folder with the load tester's container, and writes the verdict to w.
func (c project) verify(ctx context.Context, dir string, w io.Writer) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	cmd := c.Command(ctx, "run", "--rm", "--no-deps", "-T", "-v", dir+":/storm:ro", "loadtest",
		"verify", "--history", "/storm/history.jsonl", "--out", "/tmp", "--settle", "60s")
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	return nil
}
