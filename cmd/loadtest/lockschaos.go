package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"orderstock/loadtest/locks"
	"orderstock/pkg/command"
	"orderstock/pkg/servers"
)

func locksChaosCommand() *cobra.Command {
	var flag struct {
		asJSON
		Length time.Duration `flag:"for" default:"1m" help:"how long to disturb"`
		Seed   uint64        `flag:"seed" help:"chooses the faults again in the same order; 0: random"`
	}
	cmd := &cobra.Command{
		Use:   "chaos",
		Short: "Disturb zklock on an ensemble of three servers, and check the history of its grants",
		Long: `Starts three ZooKeeper servers, and four processes of contenders for one lock,
each behind proxies. For the given time it cuts connections, cuts a holder off
past its session, pauses and kills processes, and kills the leader or a
follower. Hand-off within a process is on and off, in turns of a minute.

Then it checks the recorded history: at no time two holders, as
ZooKeeper sees them, and each token greater than those before. A counter in
ZooKeeper, raised under the lock's guard, must have the number of times; no two
holders that were never paused may have believed at once that they held; and the
queue must be empty in the end.

Exits with 1 if one of that does not hold.`,
		Example: `  loadtest bench locks chaos
  loadtest bench locks chaos --for 1h --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if flag.Length <= 0 {
				return command.Misuse(errors.New("--for must be positive"))
			}
			return lockChaos(cmd, flag.Length, flag.Seed, flag.text(cmd), flag.asJSON)
		},
	}
	addFlags(cmd.Flags(), &flag)
	return cmd
}

// lockChaos disturbs and judges, and prints a line for each round to text.
func lockChaos(cmd *cobra.Command, length time.Duration, seed uint64, text io.Writer, result asJSON) (err error) {
	ctx := cmd.Context()
	worker, err := workerLine()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "orderstock-chaos-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ensemble, err := servers.StartEnsemble(ctx, 3, servers.Options{Dir: dir, Args: []string{"-Xmx192m"}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ensemble.Kill()) }()
	for seed == 0 {
		seed = rand.Uint64()
	}
	cfg := locks.Chaos{
		Watch:   func(r locks.Round) { printRound(text, r) },
		Servers: ensemble.Servers, Root: "/chaos", Length: length, Seed: seed, Grants: 100, Handoff: []int{64, 1},
		Worker: worker,
	}
	fmt.Fprintf(text, "Chaos on three servers for %s, seed %d\n", length, seed)
	rounds, err := cfg.Run(ctx)
	if err != nil {
		return err
	}
	if err := result.print(cmd, map[string]any{"seed": seed, "rounds": rounds}); err != nil {
		return err
	}
	if slices.ContainsFunc(rounds, func(r locks.Round) bool { return len(r.Violations) > 0 }) {
		return command.Fail(errors.New("the lock did not hold"))
	}
	return nil
}

func printRound(out io.Writer, r locks.Round) {
	var faults []string
	for name, n := range r.Faults {
		faults = append(faults, fmt.Sprintf("%s (%d)", name, n))
	}
	slices.Sort(faults)
	verdict := "a mutex's history, tokens rise, the counter is right"
	if len(r.Violations) > 0 {
		verdict = "VIOLATED: " + strings.Join(r.Violations, "; ")
	}
	handoff := "no hand-off"
	if r.Handoff > 1 {
		handoff = fmt.Sprintf("hand-off %d", r.Handoff)
	}
	fmt.Fprintf(out, "%s, %.0f s, %d processes: %d grants, %d lost, %d failed; counter %d\n  %s\n  %s\n", handoff,
		r.LengthS, r.Processes, r.Grants, r.Lost, r.Failed, r.Counter, strings.Join(faults, ", "), verdict)
}
