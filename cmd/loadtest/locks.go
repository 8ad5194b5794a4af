package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"orderstock/loadtest/locks"
	"orderstock/pkg/command"
)

func locksCommand() *cobra.Command {
	var (
		plan = locks.Standard()
		flag struct {
			resultFlags
			Servers string `flag:"zookeeper" help:"measure on this running server (host:port) and start none"`
			Out     string `flag:"out" default:"out/lock-bench.json" help:"file for the figures; empty for none"`
		}
	)
	cmd := &cobra.Command{
		Use:   "locks",
		Short: "Compare ZooKeeper locks",
		Long: `Starts a ZooKeeper of its own and runs, for each shape of contention and each
lock, processes of contenders that acquire and release without a pause. All
locks of a shape take turns over several rounds, each in another order, many
times in a round, so that a change in the machine's speed affects them all.
It takes less than five minutes; more rounds give steadier ratios. When it is
interrupted, it keeps the rows of what it has measured.

A latency is the time from the call to the grant; for "raw", which is a create
and a delete without any lock, it is the time of the pair. A wake-up is a watch
event that made a waiter look again.`,
		Example: `  loadtest bench locks
  loadtest bench locks --locks zklock,zk.Lock --shapes 4x64x64 --rounds 10`,
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	addFlags(f, &plan)
	addFlags(f, &flag)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		result, err := locks.Run(cmd.Context(), locks.Config{
			Plan: plan, Servers: flag.Servers, Worker: []string{self, "bench", "locks", "worker"}, Table: flag.text(cmd),
			Progress: command.Progress(cmd.ErrOrStderr()),
		})
		if result == nil || len(result.Rows) == 0 {
			return err
		}
		return errors.Join(err, flag.save(cmd, flag.Out, result, result.Sheet()))
	}
	cmd.AddCommand(&cobra.Command{
		Use:    "worker work",
		Short:  "Run one process of contenders, by orders on the standard input",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return locks.Work(cmd.Context(), args[0], cmd.InOrStdin(), cmd.OutOrStdout())
		},
	})
	return cmd
}
