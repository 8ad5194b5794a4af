package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"orderstock/loadtest/lanes"
	"orderstock/loadtest/system"
	"orderstock/loadtest/tables"
	"orderstock/loadtest/trial"
	"orderstock/pkg/command"
	"orderstock/pkg/command/flagset"
)

// runConfig has the flags of run.
type runConfig struct {
	folders
	resultFlags
	Seeds int  `flag:"seeds" default:"1" bounds:"1 1000000" help:"runs of each, with the seeds from the first on; the first three of a cell differ in their share of baskets"`
	Lanes int  `flag:"lanes" bounds:"0 64" help:"whole systems to break in parallel; 0: two for the fault matrix, else one"`
	Tries int  `flag:"tries" bounds:"0 1000" help:"seeds for what several seeds prove; 0: three"`
	List  bool `flag:"list" help:"print the names of the rows, or of the tables, and end"`
	// Random and Compose are for storms alone.
	Random  int    `flag:"random" default:"12" bounds:"0 10000" help:"random faults of a storm, after the sweep over all processes"`
	Compose string `flag:"compose" help:"the compose program of a storm (default \"docker compose\", or \"docker-compose\" if only that is there)"`
	custom  customConfig
}

// customConfig has the flags of a load of your own.
type customConfig struct {
	tables.Custom
	Breaks flagset.Each `flag:"break" help:"what breaks and when, from the first order: \"1s pause stock-1\", \"1s cut stock-1 to mysql for 2s\", \"1s arm-kill stock-1 before commit\""`
}

func runCommand() *cobra.Command {
	var cfg runConfig
	cmd := &cobra.Command{
		Use:   "run [NAME…]",
		Short: "Run experiments on new servers: published faults, the fault matrix, mutants, a storm, or your own",
		Long: `Run experiments on servers and services of their own, which are stopped at the
end. A NAME is a row:

  A                          a published fault, A to Q: its three sides
  A/broken                   with the fault
  A/fixed                    the same without the fault: one thing differs
  A/here                     the product as it runs here
  commit/after/kill          a cell of the fault matrix
  commit/after/kill@3        with a seed, as with --seed 3
  no reconciler              a mutant

or a whole table, of so many rows, whose names "run TABLE --list" prints:

` + listOfTables() + `
The exit code is the verdict's. A table writes out/TABLE.json and, as a report,
out/TABLE.html. Rows of one table run on the same servers, and write
faults-cell.json, faults-cluster-cell.json, mutants-only.json or tour.json. One
side of a published fault, and your own load, is kept in out/runs for the console.

A broken variant that is not caught is tried with the two seeds after the first,
too, and a line above the verdict says so if none of them caught it. A fault that
costs time shows if the fixed variant has at least 1.2 times the broken one's
rate. The tour's exit code is 1 if a fixed variant or the product did not pass,
and 2 if a broken one was not caught this time.

A storm's stack must be up, with the environment that this command gets. Each of
its servers, services and the front is killed, paused and restarted once; 15 s
later 60 requests a second must pass again. Random faults follow, two at a time.
Every key must have an answer in the end. It stops no container for good, and
leaves the orders in the databases.

A cluster needs root, and MySQL itself: MYSQLD, or Docker with mysql:9.7.

An interrupted run is unknown. After several runs, the last line says how many
were as expected, and the exit code is the first that is not 0.

Without a NAME, the flags say what is fired and what breaks meanwhile.`,
		Example: `  loadtest run A
  loadtest run A/fixed --seed 42
  loadtest run A/here
  loadtest run E/fixed --seeds 5
  loadtest run commit/after/kill@3 "no reconciler"
  loadtest run faults --seeds 3
  loadtest run storm --random 12
  loadtest run --orders 800 --strategy sequential --break "1s pause stock-1" ` +
			`--break "2s arm-kill stock-2 before commit"`,
		Args: cobra.ArbitraryArgs,
	}
	custom := pflag.NewFlagSet("run", pflag.ContinueOnError)
	cfg.custom.Load.Flags(custom)
	addFlags(custom, &cfg.custom)
	f := cmd.Flags()
	f.AddFlagSet(custom)
	addFlags(f, &cfg)
	f.Lookup("seed").Usage = "the first seed: the same orders, and the same moment of a fault " +
		"(default 42 for a published fault, 1 for a cell or a mutant, else random)"
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		experiments, err := cfg.experiments(f, custom, args)
		if err != nil {
			return command.Misuse(err)
		}
		if cfg.List {
			return list(cmd.OutOrStdout(), experiments)
		}
		return runAll(cmd, experiments, cfg.text(cmd))
	}
	return cmd
}

// experiment is what run runs in one go: a play, a storm, or rows of a table on the same servers.
type experiment struct {
	tables.Table        // with the rows to run; without a name if it leaves no table
	first        uint64 // seed
	runs         int    // with the seeds from the first on, each on new servers
	exit         int    // the exit code of a run that is as expected
	// run runs it with the seed, and prints its verdict. The error has the verdict's exit code.
	run func(cmd *cobra.Command, seed uint64) error
}

// join adds the rows of another experiment if they belong to the same results.
func (e *experiment) join(other *experiment) bool {
	_, twice := trial.Find(e.Rows, other.Rows[0].Name)
	if twice || e.Name == "" || e.Name != other.Name || e.first != other.first {
		return false
	}
	e.Rows = append(e.Rows, other.Rows...)
	return true
}

// runAll runs each experiment with its seeds. After several runs it prints how many were as expected. An error that is
// no verdict ends them.
func runAll(cmd *cobra.Command, experiments []*experiment, out io.Writer) error {
	var errs []error
	made, expected, planned := 0, 0, 0
	for _, e := range experiments {
		planned += e.runs
	}
	for _, e := range experiments {
		for i := range e.runs {
			if cmd.Context().Err() != nil {
				return errors.Join(append(errs,
					fmt.Errorf("interrupted: %d of %d runs were not made", planned-made, planned))...)
			}
			err, code := e.run(cmd, e.first+uint64(i)), command.Passed
			if exit, judged := errors.AsType[*command.ExitError](err); judged {
				code = exit.Code
			} else if err != nil {
				return err
			}
			made++
			if errs = append(errs, err); code == e.exit {
				expected++
			}
		}
	}
	if planned > 1 {
		fmt.Fprintf(out, "%d of %d runs as expected\n", expected, planned)
	}
	return errors.Join(errs...)
}

// experiments returns the experiments that the arguments name, or the one of the flags. It fails before the minutes of
// compiling. custom are the flags of a load of your own.
func (cfg *runConfig) experiments(f, custom *pflag.FlagSet, names []string) (all []*experiment, err error) {
	if len(names) == 0 && !cfg.List {
		if err := cfg.readBreaks(); err != nil {
			return nil, err
		}
		e, _ := cfg.custom.Play("bin/loadtest", true)
		run := func(cmd *cobra.Command, seed uint64) error {
			cfg.custom.Load.Mix.Seed = seed
			e, run := cfg.custom.Play("bin/loadtest", true)
			return cfg.play(cmd, e, run)
		}
		all = append(all, &experiment{first: e.Load.Mix.Seed, runs: cfg.Seeds, run: run})
	}
	for _, name := range names {
		e, err := cfg.named(name, f.Changed("seed"))
		if err != nil {
			return nil, err
		}
		if len(all) == 0 || !all[len(all)-1].join(e) {
			all = append(all, e)
		}
	}
	var odd []string
	stormy := slices.ContainsFunc(all, func(e *experiment) bool { return strings.HasPrefix(e.Name, tables.TheStorm) })
	f.Visit(func(flag *pflag.Flag) {
		ofStorm := flag.Name == "random" || flag.Name == "compose"
		if ofStorm && !stormy || len(names) > 0 && flag.Name != "seed" && custom.Lookup(flag.Name) != nil {
			odd = append(odd, "--"+flag.Name)
		}
	})
	switch {
	case len(odd) > 0 && len(names) == 0:
		return nil, fmt.Errorf("%s: only a storm takes that", strings.Join(odd, ", "))
	case len(odd) > 0:
		return nil, fmt.Errorf("a named experiment has its own load: leave %s out, or the name", strings.Join(odd, ", "))
	case cfg.Report != "" && (len(all) > 1 || len(all) == 1 && all[0].runs > 1):
		return nil, errors.New("--report is one file: name one experiment, without --seeds")
	}
	return all, nil
}

// readBreaks adds the faults of the flags to the load, and validates it.
func (cfg *runConfig) readBreaks() error {
	for _, text := range cfg.custom.Breaks {
		a, err := trial.Parse(text)
		if err != nil {
			return fmt.Errorf("--break %w", err)
		}
		cfg.custom.Faults = append(cfg.custom.Faults, a)
	}
	return cfg.custom.Validate()
}

// play plays an experiment, and prints its verdict.
func (cfg *runConfig) play(cmd *cobra.Command, e trial.Experiment, run tables.Run) error {
	var record *tables.Record
	err := cfg.withPlayer(cmd, func(p *tables.Player) (err error) {
		command.Progress(cmd.ErrOrStderr())("playing " + run.String())
		record, err = p.Play(cmd.Context(), e, run)
		return err
	})
	if err == nil && cfg.Report != "" {
		err = record.Sheet().Save(cfg.Report)
	}
	if err != nil {
		return err
	}
	return errors.Join(cfg.print(cmd, record.Verdict), conclude(cfg.text(cmd), record))
}

// withPlayer calls do with a player in a new system that can be broken.
func (cfg *runConfig) withPlayer(cmd *cobra.Command, do func(*tables.Player) error) error {
	return withLab(cmd, cfg.Bin, func(l *system.System) error {
		p, err := tables.NewPlayer(l, cfg.Out)
		if err != nil {
			return err
		}
		p.Progress = cmd.ErrOrStderr()
		return do(p)
	})
}

// conclude prints the verdict on the last try. It returns the exit code of a verdict other than pass as an error.
func conclude(w io.Writer, r *tables.Record) error {
	if r.Run.Verdict == trial.NotCaught {
		var seeds []string
		for back := r.Run.Attempt - 1; back >= 0; back-- {
			seeds = append(seeds, fmt.Sprint(r.Run.Seed-uint64(back)))
		}
		fmt.Fprintf(w, "not caught this time, with the seeds %s\n", strings.Join(seeds, ", "))
	}
	show(w, r.Run, r.Scene)
	if err := r.Verdict.Write(w, false); err != nil {
		return err
	}
	return exit(r.Verdict.Outcome)
}

// show prints the sentence of a run that is judged, with its word, and if it is known, what happened.
func show(w io.Writer, r tables.Run, happened *lanes.Scene) {
	if h := r.Headline(); h.Sentence != "" {
		fmt.Fprintf(w, "%s: %s: %s\n", r, h.Sentence, h.Word)
	}
	if happened != nil {
		fmt.Fprintln(w)
		happened.Text(w)
		fmt.Fprintln(w)
	}
}
