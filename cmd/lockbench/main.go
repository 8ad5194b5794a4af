// Command lockbench measures pkg/zklock beside other ZooKeeper locks on one server: processes of
// contenders that acquire and release as fast as they can, on one path and on many.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"orderstock/pkg/command"
	"orderstock/pkg/servers"
)

func main() { command.Main(newCommand()) }

// errMissed says that a target was missed under --check.
var errMissed = errors.New("a target was missed")

type config struct {
	plan
	zookeeper string
	out       string
	quick     bool
	check     bool
}

func newCommand() *cobra.Command {
	var c config
	cmd := &cobra.Command{
		Use:   "lockbench",
		Short: "Measure ZooKeeper locks beside each other",
		Long: `Lockbench starts a ZooKeeper of its own and runs, for each shape of contention
and each lock, processes of contenders that acquire and release without a
pause. All locks of a shape take turns over several rounds, each in another
order, many times in a round, so that a change in the machine's mood meets them
all.

A latency is the time from the call to the grant; for "raw", which is a create
and a delete without any lock, it is the time of the pair. A wake-up is a watch
event that made a waiter look again.`,
		Example: `  lockbench                       measure all, print the table and the targets
  lockbench --quick               a short look, for a change in hand
  lockbench --check               end with an error where a target is missed
  lockbench --locks zklock,zk.Lock --shapes 4x64x1`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.quick {
				c.plan.shorten(cmd.Flags().Changed)
			}
			return c.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&c.locks, "locks", lockNames, "the locks to measure")
	f.StringSliceVar(&c.shapes, "shapes", []string{"1x1x1", "4x64x1", "4x64x64"}, "processes x contenders x paths")
	f.IntVar(&c.rounds, "rounds", 3, "windows for each lock and shape")
	f.DurationVar(&c.window, "window", 4*time.Second, "length of one window, over all its turns")
	f.DurationVar(&c.warmup, "warmup", 1500*time.Millisecond, "run before each window, over all its turns; twice as long before the first turn")
	f.StringVar(&c.zookeeper, "zookeeper", "", "measure on this running server (host:port) and start none")
	f.StringVar(&c.out, "out", filepath.Join("out", "lock-bench.json"), "file for the figures; empty for none")
	f.BoolVar(&c.quick, "quick", false, "one short window each, without the many paths")
	f.BoolVar(&c.check, "check", false, "exit with an error when a target is missed")
	cmd.AddCommand(newWorkerCommand())
	return cmd
}

func (c *config) run(ctx context.Context) error {
	shapes, err := parseShapes(c.shapes)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "lockbench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if c.zookeeper == "" {
		zk, err := servers.StartZooKeeper(ctx, filepath.Join(dir, "zookeeper"), servers.WithHeapMB(1024))
		if err != nil {
			return err
		}
		defer func() { _ = zk.Kill() }() // its data goes with the folder
		c.zookeeper = zk.Addr()
	}
	fmt.Printf("ZooKeeper at %s; %d rounds of %s after %s\n\n", c.zookeeper, c.rounds, c.window, c.warmup)

	b := &bench{plan: c.plan, servers: c.zookeeper, dir: dir, root: "/lockbench-" + strings.ToLower(rand.Text()[:8])}
	rows, err := b.run(ctx, shapes, os.Stdout)
	if err != nil {
		return err
	}
	if c.out != "" {
		if err := writeJSON(c.out, rows); err != nil {
			return err
		}
		fmt.Printf("\nfigures: %s\n", c.out)
	}
	if missed := printTargets(os.Stdout, rows); missed && c.check {
		return errMissed
	}
	return nil
}
