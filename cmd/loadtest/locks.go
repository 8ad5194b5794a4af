package main

import (
	"os"

	"github.com/spf13/cobra"

	"orderstock/loadtest/locks"
)

func locksCommand() *cobra.Command {
	var (
		plan = locks.Full()
		flag struct {
			resultFlags
			Servers string `flag:"zookeeper" help:"measure on this running server (host:port) and start none"`
			Out     string `flag:"out" default:"out/lock-bench.json" help:"file for the figures; empty for none"`
			Quick   bool   `flag:"quick" help:"one short window each, without the many paths"`
		}
	)
	cmd := &cobra.Command{
		Use:   "locks",
		Short: "Compare ZooKeeper locks",
		Long: `Starts a ZooKeeper of its own and runs, for each shape of contention and each
lock, processes of contenders that acquire and release without a pause. All
locks of a shape take turns over several rounds, each in another order, many
times in a round, so that a change in the machine's speed affects them all.

A latency is the time from the call to the grant; for "raw", which is a create
and a delete without any lock, it is the time of the pair. A wake-up is a watch
event that made a waiter look again.`,
		Example: `  loadtest bench locks            measure all, print the table
  loadtest bench locks --quick    a short look, for a change in hand
  loadtest bench locks --locks zklock,zk.Lock --shapes 4x64x1`,
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	addFlags(f, &plan)
	addFlags(f, &flag)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if flag.Quick {
			plan = plan.Hurry(f.Changed)
		}
		self, err := os.Executable()
		if err != nil {
			return err
		}
		text := flag.text(cmd)
		result, err := locks.Run(cmd.Context(), locks.Config{
			Plan: plan, Servers: flag.Servers, Worker: []string{self, "bench", "locks", "worker"}, Table: text,
		})
		if err != nil {
			return err
		}
		return flag.save(cmd, flag.Out, result)
	}
	cmd.AddCommand(locksChaosCommand())
	cmd.AddCommand(&cobra.Command{
		Use:    "worker lock servers path-prefix paths first-contender contenders [hold]",
		Short:  "Run one process of contenders, by commands on the standard input",
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return locks.Work(cmd.Context(), args, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	})
	return cmd
}
