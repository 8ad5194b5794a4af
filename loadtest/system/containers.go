package system

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/verify"
)

// breakable are the services of the compose file that can break; each may have several containers.
var breakable = []string{"mysql", "redis", "zookeeper", "stock-service", "order-service", "front"}

// errDown is the advice if a part of the stack is missing.
var errDown = errors.New(
	`the stack is not up: run "docker-compose up -d --build" first, with the same COMPOSE_PROJECT_NAME`)

// AttachCompose returns the running stack of the compose file. Its ServerProcesses are the containers, "redis-1",
// "stock-service-2" and so on. program is the compose program; "" stands for docker compose, or for docker-compose if
// only that is installed. The histories of its runs, which the load tester's container judges, are kept in dir.
func AttachCompose(ctx context.Context, program, dir string) (*System, error) {
	c, err := newCompose(ctx, program)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	s := &System{Servers: &Servers{}, Dir: dir, attached: true, compose: c}
	s.target.Limited = true // the compose file limits the rate of orders
	for _, service := range breakable {
		ids, err := c.run(ctx, "ps", "-q", service)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errDown, err)
		}
		if ids == "" {
			return nil, fmt.Errorf("%w: there is no %s", errDown, service)
		}
		for i, id := range strings.Fields(ids) {
			s.containers = append(s.containers, &container{id, fmt.Sprintf("%s-%d", service, i+1)})
		}
	}
	for port, urls := range map[string]*[]string{"8000": &s.target.OrderURLs, "8081": &s.target.StockURLs} {
		at, err := c.run(ctx, "port", "front", port)
		if err != nil {
			return nil, err
		}
		*urls = []string{"http://" + at}
	}
	s.target.StockToken, err = c.run(ctx, "exec", "-T", "console", "loadtest", "token")
	return s, err
}

// Attach returns a system of services that run already. It cannot break them.
func Attach(target fire.Target, databases verify.Databases) *System {
	return &System{Servers: &Servers{}, attached: true, target: target, databases: databases}
}

// Attached reports whether the services run already, and are not started for a run.
func (s *System) Attached() bool { return s.attached }

// Judge judges a run from the system's databases. Settle is one minute by default. The databases of containers are
// reached by the load tester's container alone.
func (s *System) Judge(ctx context.Context, cfg verify.Config) (*verify.Verdict, error) {
	cfg.Databases, cfg.Settle = s.Databases(), cmp.Or(cfg.Settle, time.Minute)
	if s.compose == nil {
		return verify.Run(ctx, cfg)
	}
	const kept = "history.jsonl"
	if err := cfg.History.Save(filepath.Join(s.Dir, kept)); err != nil {
		return nil, err
	}
	cmd := s.compose.command(ctx, "run", "--rm", "--no-deps", "-T", "-v", s.Dir+":/run-to-judge:ro", "loadtest", "verify",
		"--history", "/run-to-judge/"+kept, "--out", "/tmp", "--settle", cfg.Settle.String(), "--json")
	var out, failure bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failure
	failed := cmd.Run() // also if the verdict is no pass
	var v verify.Verdict
	if err := json.Unmarshal(out.Bytes(), &v); err != nil {
		return nil, fmt.Errorf("judge in a container: %w: %w\n%s", err, failed, &failure)
	}
	return &v, nil
}

// container is a container as a Process.
type container struct{ id, name string }

// Name implements Process.
func (c *container) Name() string { return c.name }

// Running implements Process.
func (c *container) Running() bool { return c.state("Running") }

// Starting implements Process.
func (c *container) Starting() bool { return false }

// Paused implements Process.
func (c *container) Paused() bool { return c.state("Paused") }

// Kill implements Process.
func (c *container) Kill() error { return c.docker("kill") }

// Pause implements Process.
func (c *container) Pause() error { return c.docker("pause") }

// Resume implements Process.
func (c *container) Resume() error {
	if !c.Paused() {
		return nil
	}
	return c.docker("unpause")
}

// Restart implements Process. A container that runs is stopped gracefully.
func (c *container) Restart(context.Context) error {
	if c.Running() {
		return c.docker("restart")
	}
	return c.docker("start")
}

func (c *container) state(of string) bool {
	text, _ := c.output("inspect", "-f", "{{.State."+of+"}}") // a container that is gone is in no state
	return text == "true"
}

func (c *container) docker(do string) error {
	_, err := c.output(do)
	return err
}

// output runs docker. What is broken is mended after an interrupt, too.
func (c *container) output(args ...string) (string, error) {
	ctx := context.Background() //nolint:forbidigo // see above
	return output(exec.CommandContext(ctx, "docker", append(args, c.id)...))
}
