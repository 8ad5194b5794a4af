package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"orderstock/loadtest/ladder"
	"orderstock/loadtest/stack"
	"orderstock/pkg/servers"
)

type flags struct {
	quick, check   bool
	mysql          string
	strategies     []string
	clients        []int
	replicas       []int
	warmup, window time.Duration
	out            string
}

// quickWindow is the window of a quick run: it has few rows and time left, and orders under
// conditional-update come in bursts of up to a second, of which a turn has to hold several.
const quickWindow = 5 * time.Second

func newCommand() *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use:   "ladder",
		Short: "Measure the deduction strategies beside one another",
		Long: `Starts MySQL, Redis and ZooKeeper, then measures every strategy with the same
load: sales a second and latency by clients, on one hot goods and on many, on
the deduction call alone and on whole orders. All strategies take turns at each
load. Every row gets the verifier's verdict. Only ratios between rows of one run
mean anything.

Writes out/ladder.json and out/ladder.svg.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if f.quick && !c.Flags().Changed("window") {
				f.window = quickWindow
			}
			return run(c.Context(), f)
		},
	}
	c.PersistentFlags().StringVar(&f.mysql, "mysql", "auto", "the database: docker ("+ladder.Image+"), local (the installed one), or auto (docker where it is)")
	c.PersistentFlags().DurationVar(&f.warmup, "warmup", 500*time.Millisecond, "load before each of the turns in which a row is measured")
	c.PersistentFlags().DurationVar(&f.window, "window", 3*time.Second, "time of each measurement, over all rounds (with --quick "+quickWindow.String()+"); fast strategies get twice as much, and more where they are compared most closely")
	c.PersistentFlags().StringVar(&f.out, "out", "out", "folder of the results")
	c.PersistentFlags().BoolVar(&f.check, "check", false, "fail where a figure that the default strategy is held to was missed")
	c.AddCommand(newGrowthCommand(&f), newSoakCommand(&f), newReplicasCommand(&f))
	c.Flags().BoolVar(&f.quick, "quick", false, "only case-study, conditional-update and grouped, 64 and 256 clients, one hot goods")
	c.Flags().StringSliceVar(&f.strategies, "strategies", nil, "only these strategies")
	c.Flags().IntSliceVar(&f.clients, "clients", nil, "only these numbers of clients")
	c.Flags().IntSliceVar(&f.replicas, "replicas", nil, "only these numbers of stock services")
	return c
}

func (f flags) plan() (ladder.Plan, error) {
	plan := ladder.Full()
	if f.quick {
		plan = ladder.Quick()
	}
	if len(f.strategies) > 0 {
		for _, s := range f.strategies {
			if !slices.Contains(ladder.Strategies, s) {
				return plan, fmt.Errorf("strategy %q: there are %v", s, ladder.Strategies)
			}
		}
		plan.Strategies = f.strategies
	}
	if len(f.clients) > 0 {
		plan.Clients = f.clients
	}
	if len(f.replicas) > 0 {
		plan.Replicas = f.replicas
	}
	for _, n := range append(slices.Clone(plan.Clients), plan.Replicas...) {
		if n < 1 || n > 10_000 {
			return plan, fmt.Errorf("%d clients or replicas: want 1 to 10000", n)
		}
	}
	return plan, nil
}

func run(ctx context.Context, f flags) error {
	plan, err := f.plan()
	if err != nil {
		return err
	}
	var result *ladder.Result
	err = withServers(ctx, f, func(cfg ladder.Config) error {
		cfg.Plan = plan
		var err error
		result, err = ladder.Run(ctx, cfg)
		if len(result.Rows) > 0 {
			err = errors.Join(err, write(f, result))
		}
		return err
	})
	if err != nil {
		return err
	}
	return judge(f, result)
}

// withServers builds the services and starts the servers, calls measure, and
// stops them. The run's folder, with the logs, stays where something failed.
func withServers(ctx context.Context, f flags, measure func(ladder.Config) error) (err error) {
	dir, err := os.MkdirTemp("", "orderstock-ladder-")
	if err != nil {
		return fmt.Errorf("make the run's folder: %w", err)
	}
	say := func(doing string) { fmt.Fprintln(os.Stderr, "  ..", doing) }
	root, err := stack.ModuleRoot()
	if err != nil {
		return err
	}
	say("building the services")
	bin := filepath.Join(dir, "bin")
	if err := stack.Build(ctx, root, bin, nil, "order-service", "stock-service"); err != nil {
		return err
	}
	say("starting MySQL, Redis and ZooKeeper")
	up, stop, err := startServers(ctx, f.mysql, dir)
	if err != nil {
		return err
	}
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		err = errors.Join(err, stop(clean))
		if err == nil {
			err = os.RemoveAll(dir)
		} else {
			fmt.Fprintln(os.Stderr, "the logs are in", dir)
		}
	}()
	say("warming ZooKeeper up")
	if err := ladder.WarmUp(ctx, up.ZooKeeper.Addr()); err != nil {
		return err
	}
	return measure(ladder.Config{Servers: up, Bin: bin, Dir: dir, Warmup: f.warmup, Measure: f.window, Table: os.Stdout, Progress: say})
}

// startServers starts the three servers, the database as which says.
func startServers(ctx context.Context, which, dir string) (*stack.Servers, func(context.Context) error, error) {
	switch which {
	case "auto":
		which = "local"
		if ladder.HaveImage(ctx) {
			which = "docker"
		}
	case "docker", "local":
	default:
		return nil, nil, fmt.Errorf("--mysql %q: want docker, local or auto", which)
	}
	if which == "local" {
		s, err := stack.StartServers(ctx, dir, servers.WithBufferPoolMB(1024), servers.WithMaxConnections(ladder.MaxConnections))
		if err != nil {
			return nil, nil, err
		}
		return s, s.Stop, nil
	}
	mysql, remove, err := ladder.StartContainer(ctx)
	if err != nil {
		return nil, nil, err
	}
	s := &stack.Servers{MySQL: mysql}
	if s.Redis, err = servers.StartRedis(ctx, filepath.Join(dir, "redis")); err == nil {
		s.ZooKeeper, err = servers.StartZooKeeper(ctx, filepath.Join(dir, "zookeeper"))
	}
	stop := func(ctx context.Context) error { return errors.Join(s.Stop(ctx), remove(ctx)) }
	if err != nil {
		return nil, nil, errors.Join(err, stop(context.WithoutCancel(ctx)))
	}
	return s, stop, nil
}

// write leaves the results in the folder.
func write(f flags, result *ladder.Result) error {
	if err := result.Write(filepath.Join(f.out, "ladder.json")); err != nil {
		return err
	}
	picture := filepath.Join(f.out, "ladder.svg")
	if err := result.Draw(picture); err != nil {
		return err
	}
	fmt.Println("written:", filepath.Join(f.out, "ladder.json"), picture)
	return nil
}

// judge prints the ratios and fails on a verdict that is not what it has to be.
func judge(f flags, result *ladder.Result) error {
	var err error
	for _, r := range result.Ratios {
		fmt.Println(r.Line())
		if f.check && !r.OK {
			err = errors.Join(err, missed(r))
		}
	}
	for _, row := range result.Wrong() {
		err = errors.Join(err, fmt.Errorf("verdict %s on %s, path %s, %d clients", row.Verdict, row.Strategy, row.Path, row.Clients))
	}
	return err
}

func missed(r ladder.Ratio) error {
	return fmt.Errorf("missed: %s: %.2f, want %.1f", r.Name, r.Value, r.Want)
}
