// Package storm breaks the stack of the compose file while orders arrive through its published port, with the limits,
// database users and front end of a deployment.
//
// First each container is killed, paused and restarted once, and orders must flow again after each fault. Then follow
// random faults, two at a time, without a wait between them. Clients repeat an order under its key until it is
// answered. At the end each key has an answer, and the verdict passes.
package storm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/system"
	"orderstock/loadtest/trial"
)

// Config configures Run. Compose and Out are required.
type Config struct {
	// Compose is the stack, which must be up.
	Compose system.Compose
	Random  int `flag:"random" default:"12" bounds:"0 10000" help:"random faults, after the sweep over all containers"`
	// Orders is the minimum: the faults may need more.
	Orders int    `flag:"orders" default:"9000" bounds:"0 1000000" help:"orders to send at least"`
	Seed   uint64 `flag:"seed" help:"makes the same faults again; 0: random"`
	// Out is the folder for storm.json and history.jsonl.
	Out string `flag:"out" default:"out" help:"folder for the results"`
	// Text gets the verdict and Progress the current step.
	Text     io.Writer
	Progress func(doing string)
}

const (
	// rate is orders a second. With their repeats they stay below the limit of one client.
	rate    = 70
	clients = 30
	// insist is how long a client repeats an order.
	insist = 3 * time.Minute
	// mix: about half of 9,000 orders are rejected for lack of stock.
	goods, pieces = 20, 1000
)

// Result reports a storm.
type Result struct {
	Seed   uint64  `json:"seed"`
	Faults []Fault `json:"faults"`
	// Orders were sent; Unanswered of them have no answer.
	Orders     int `json:"orders"`
	Unanswered int `json:"unanswered"`
	// SlowestS is the longest time until orders flowed again after a fault, in seconds.
	SlowestS float64 `json:"slowest_s"`
	Verdict  string  `json:"verdict"`
	// Missed names the requirements that did not hold.
	Missed []string `json:"missed,omitempty"`
}

// Run breaks the stack and judges the result. All containers run again when it returns, even with an error.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	c := project{cfg.Compose}
	targets, err := c.containers(ctx)
	if err != nil {
		return nil, err
	}
	target, err := c.target(ctx)
	if err != nil {
		return nil, err
	}
	files := []string{filepath.Join(cfg.Out, "storm.json"), filepath.Join(cfg.Out, "history.jsonl")}
	if err := history.Clear(files...); err != nil {
		return nil, err
	}
	s := &storm{
		cfg: cfg, project: c, targets: targets, result: &Result{Seed: cfg.Seed},
		random: rand.New(rand.NewPCG(cfg.Seed, 0)),
	}
	h, err := s.fireAndBreak(ctx, target)
	if err != nil {
		return nil, err
	}
	s.count(h)
	if err := c.verify(ctx, cfg.Out, cfg.Text); err != nil {
		s.result.Verdict = err.Error()
		s.miss("the verdict is no pass: %v", err)
	} else {
		s.result.Verdict = "pass"
	}
	return s.result, history.SaveJSON(files[0], s.result)
}

// storm is a run in progress.
type storm struct {
	cfg     Config
	project project
	targets []container
	random  *rand.Rand
	flow    flow
	live    fire.Live
	result  *Result
}

// fireAndBreak sends orders until all faults have struck, and returns the history.
func (s *storm) fireAndBreak(ctx context.Context, target fire.Target) (*history.History, error) {
	t := trial.Trial{
		Load: fire.Config{
			Target: target, Orders: history.MaxOrders, Rate: rate, Concurrency: clients, Timeout: 20 * time.Second,
			Insist: insist, Observer: &s.flow, Live: &s.live,
			Mix: fire.Mix{Goods: goods, Stock: pieces, ItemsMax: 3, NumMax: 3, Repeat: 0.05, Cancel: 0.05, Seed: s.cfg.Seed},
		},
		Acts: []trial.Timed{{Act: &trial.Simple{Do: s.breakAll}, EndsLoad: true}}, Keep: s.cfg.Out,
	}
	r, err := t.Fire(ctx)
	if err != nil {
		return nil, err
	}
	return r.History, nil
}

// breakAll strikes each container in each way, and then at random. It returns when there are enough orders.
func (s *storm) breakAll(ctx context.Context) error {
	if err := s.flows(ctx, "at the start"); err != nil {
		return err
	}
	if len(s.result.Missed) > 0 {
		return errors.New("no orders flow before anything is broken: " + s.result.Missed[0])
	}
	for _, i := range s.random.Perm(len(s.targets) * len(actions)) {
		f := Fault{Container: s.targets[i/len(actions)].name, Action: actions[i%len(actions)]}
		s.cfg.Progress(f.String())
		if err := s.project.strike(ctx, s.targets[i/len(actions)], f.Action); err != nil {
			return err
		}
		s.result.Faults = append(s.result.Faults, f)
		if err := s.flows(ctx, f.String()); err != nil {
			return err
		}
	}
	for left := s.cfg.Random; left > 0; left -= 2 {
		if err := s.strikeAtRandom(ctx, min(left, 2)); err != nil {
			return err
		}
	}
	if s.cfg.Random > 0 {
		if err := s.flows(ctx, "after the last of the random faults"); err != nil {
			return err
		}
	}
	for int(s.live.Counts().Orders) < s.cfg.Orders {
		if err := trial.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	s.cfg.Progress("waiting for the last answers")
	return nil
}

// strikeAtRandom strikes n containers at once, and waits a moment.
func (s *storm) strikeAtRandom(ctx context.Context, n int) error {
	errs := make(chan error, n)
	for _, i := range s.random.Perm(len(s.targets))[:n] {
		f := Fault{Container: s.targets[i].name, Action: actions[s.random.IntN(len(actions))]}
		s.cfg.Progress(f.String())
		s.result.Faults = append(s.result.Faults, f)
		go func() { errs <- s.project.strike(ctx, s.targets[i], f.Action) }()
	}
	var err error
	for range n {
		err = errors.Join(err, <-errs)
	}
	return errors.Join(err, trial.Sleep(ctx, time.Duration(500+s.random.IntN(1500))*time.Millisecond))
}

// flows waits until orders flow again, and records how long that took, or that they do not.
func (s *storm) flows(ctx context.Context, when string) error {
	took, best, err := s.flow.await(ctx)
	switch {
	case err != nil:
		return err
	case best < enough:
		s.miss("%s: within %v, at most %d requests a second passed, want %d", when, within, best, enough)
	default:
		s.result.SlowestS = max(s.result.SlowestS, took.Seconds())
	}
	return nil
}

// count counts the orders, and those without an answer.
func (s *storm) count(h *history.History) {
	answered := map[int32]bool{}
	for _, c := range h.Calls {
		if c.Kind.Places() {
			answered[c.Op] = answered[c.Op] || passed(c)
		}
	}
	s.result.Orders = len(answered)
	for _, ok := range answered {
		if !ok {
			s.result.Unanswered++
		}
	}
	if s.result.Unanswered > 0 {
		s.miss("%d of %d orders have no answer after %v of repeats", s.result.Unanswered, s.result.Orders, insist)
	}
}

func (s *storm) miss(format string, args ...any) {
	s.result.Missed = append(s.result.Missed, fmt.Sprintf(format, args...))
	s.cfg.Progress("MISSED " + s.result.Missed[len(s.result.Missed)-1])
}
