package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"

	"github.com/spf13/cobra"

	"orderstock/loadtest/tables"
	"orderstock/loadtest/system"
	"orderstock/loadtest/trial"
	"orderstock/pkg/command"
)

// stormConfig has the flags of storm.
type stormConfig struct {
	Random  int    `flag:"random" default:"12" bounds:"0 10000" help:"random faults, after the sweep over all processes"`
	Orders  int    `flag:"orders" default:"9000" bounds:"0 1000000" help:"orders to send at least; the faults may need more"`
	Seed    uint64 `flag:"seed" help:"makes the same faults again; 0: random"`
	Out     string `flag:"out" default:"out" help:"folder for the results"`
	Program string `flag:"compose" help:"the compose program (default \"docker compose\", or \"docker-compose\" if only that is there)"`
	Local   bool   `flag:"local" help:"break new servers and services without containers, in place of the compose file's stack"`
	resultFlags
}

func stormCommand() *cobra.Command {
	var cfg stormConfig
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
		RunE: func(c *cobra.Command, _ []string) error { return cfg.run(c) },
	}
	addFlags(c.Flags(), &cfg)
	return c
}

func (cfg *stormConfig) run(c *cobra.Command) error {
	for cfg.Seed == 0 {
		cfg.Seed = rand.Uint64()
	}
	doing := command.Progress(c.ErrOrStderr())
	s := trial.Suite{Table: "storm", FirstSeed: cfg.Seed, Out: cfg.Out, Show: func(section string, value any) {
		if section == "act" || section == "phase" {
			doing(fmt.Sprint(value))
		}
	}}
	servers, replicas := []string{"mysql", "redis", "zookeeper"}, []string{"order-1", "order-2", "stock-1", "stock-2"}
	if !cfg.Local {
		compose, err := system.NewCompose(c.Context(), cfg.Program)
		if err != nil {
			return err
		}
		dir, err := filepath.Abs(cfg.Out)
		if err != nil {
			return err
		}
		if s.On, err = system.AttachCompose(c.Context(), compose, dir); err != nil {
			return err
		}
		servers, replicas = nil, nil
		for _, p := range s.On.ServerProcesses() {
			servers = append(servers, p.Name())
		}
	}
	s.Experiments = []trial.Experiment{tables.Storm(servers, replicas, cfg.Random, cfg.Orders, cfg.Seed)}
	return runSuite(c, s, cfg.resultFlags)
}
