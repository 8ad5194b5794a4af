package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"

	"github.com/spf13/cobra"

	"orderstock/loadtest/storm"
	"orderstock/loadtest/system"
	"orderstock/pkg/command"
)

func stormCommand() *cobra.Command {
	var cfg struct {
		storm.Config
		asJSON
		Program string `flag:"compose" help:"the compose program (default \"docker compose\", or \"docker-compose\" if only that is there)"`
	}
	c := &cobra.Command{
		Use:   "storm",
		Short: "Break the compose file's stack while orders come through its published port",
		Long: `Break the compose file's stack while orders come through its published port.

The stack must be up, with the environment that this command gets. Each of its
servers, services and the front is killed, paused and restarted once; 15 s later
60 requests a second must pass again. Random faults follow, two at a time. Every
key must have an answer in the end, and the verdict must pass. It stops no
container for good, and leaves the orders in the databases.

Writes storm.json and history.jsonl.`,
		Example: `  docker-compose up -d --build --scale stock-service=3 --scale order-service=2
  loadtest run storm --random 12 --orders 9000`,
		Args: cobra.NoArgs,
	}
	addFlags(c.Flags(), &cfg)
	c.RunE = func(c *cobra.Command, _ []string) (err error) {
		if cfg.Compose, err = system.NewCompose(c.Context(), cfg.Program); err != nil {
			return err
		}
		for cfg.Seed == 0 {
			cfg.Seed = rand.Uint64()
		}
		cfg.Text, cfg.Progress = cfg.text(c), command.Progress(c.ErrOrStderr())
		r, err := storm.Run(c.Context(), cfg.Config)
		if err != nil {
			return err
		}
		if err := cfg.print(c, r); err != nil {
			return err
		}
		fmt.Fprintf(cfg.Text, "%d faults, %d orders, %d without an answer; orders flowed again after %.1f s at most; "+
			"seed %d; written: %s\n", len(r.Faults), r.Orders, r.Unanswered, r.SlowestS, r.Seed,
			filepath.Join(cfg.Out, "storm.json"))
		for _, line := range r.Missed {
			fmt.Fprintln(cfg.Text, "MISSED", line)
		}
		if len(r.Missed) > 0 {
			return command.Fail(fmt.Errorf("the storm: %d things did not hold", len(r.Missed)))
		}
		return nil
	}
	return c
}
