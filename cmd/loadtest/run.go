package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"orderstock/loadtest/tables"
	"orderstock/loadtest/trial"
	"orderstock/pkg/command"
)

// runConfig has the flags of run.
type runConfig struct {
	folders
	resultFlags
	Seeds int `flag:"seeds" default:"1" bounds:"1 1000" help:"runs of each experiment, with the seeds from the first on"`
	own   ownConfig
}

// ownConfig has the flags of a load of your own.
type ownConfig struct {
	tables.Custom
	Breaks command.Each `flag:"break" help:"what breaks and when, from the first order: \"1s pause stock-1\", \"1s cut stock-1 to mysql for 2s\", \"1s arm-kill stock-1 before commit\""`
}

func runCommand() *cobra.Command {
	var cfg runConfig
	cmd := &cobra.Command{
		Use:   "run [NAME…]",
		Short: "Run experiments on new servers: a published fault, a cell of the fault matrix, a mutant, or your own",
		Long: `Run experiments on servers and services of their own, which are stopped at the
end. A NAME is

  A, A/broken or A/fixed     a published fault, A to Q; its letter alone: both
  commit/after/kill          a cell of the fault matrix ("run faults --list");
  commit/after/kill@3        with a seed, as with --seed 3
  no reconciler              a mutant ("run mutants --list")

The commands below run whole tables. The exit code is the verdict's.

A broken variant that is not caught is tried with the two seeds after the first,
too, and a line above the verdict says so if none of them caught it. What a run
leaves in the folder --out can be opened in the console.

An interrupted run is unknown. After several runs, the last line says how many
were as expected, and the exit code is the first that is not 0. With --seeds,
each run has new servers; "run faults --cell NAME --seeds 9" runs a cell again
on the same ones.

Without a NAME, the flags say what is fired and what breaks meanwhile.`,
		Example: `  loadtest run A
  loadtest run A/fixed --seed 42
  loadtest run E/fixed --seeds 5
  loadtest run commit/after/kill@3 "no reconciler"
  loadtest run --orders 800 --strategy sequential --break "1s pause stock-1" ` +
			`--break "2s arm-kill stock-2 before commit"`,
		Args: cobra.ArbitraryArgs,
	}
	own := pflag.NewFlagSet("run", pflag.ContinueOnError)
	cfg.own.Load.Flags(own)
	addFlags(own, &cfg.own)
	f := cmd.Flags()
	f.AddFlagSet(own)
	addFlags(f, &cfg)
	f.Lookup("seed").Usage = "the first seed: the same orders, and the same moment of a fault " +
		"(default 42 for a published fault, 1 for a cell or a mutant, else random)"
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		experiments, err := cfg.experiments(f, own, args)
		if err != nil {
			return command.Misuse(err)
		}
		return runAll(cmd, experiments, cfg.Seeds, cfg.text(cmd))
	}
	cmd.AddCommand(faultsCommand(), mutantsCommand(), tourCommand(), stormCommand())
	return cmd
}

// experiment is what run runs.
type experiment struct {
	first uint64 // seed
	exit  int    // the exit code of a run that is as expected
	// run runs it with the seed, and prints its verdict. The error has the verdict's exit code.
	run func(cmd *cobra.Command, seed uint64) error
}

// runAll runs each experiment with that many seeds. After several runs it prints how many were as expected. An error
// that is no verdict ends them.
func runAll(cmd *cobra.Command, experiments []experiment, seeds int, out io.Writer) error {
	var errs []error
	expected, planned := 0, len(experiments)*seeds
	for i := range planned {
		if cmd.Context().Err() != nil {
			errs = append(errs, fmt.Errorf("interrupted: %d of %d runs were not made", planned-i, planned))
			break
		}
		e := experiments[i/seeds]
		err, code := e.run(cmd, e.first+uint64(i%seeds)), command.Passed
		if exit, judged := errors.AsType[*command.ExitError](err); judged {
			code = exit.Code
		} else if err != nil {
			return err
		}
		if errs = append(errs, err); code == e.exit {
			expected++
		}
	}
	if planned > 1 {
		fmt.Fprintf(out, "%d of %d runs as expected\n", expected, planned)
	}
	return errors.Join(errs...)
}

// experiments returns the experiments that the arguments name, or the one of the flags. It fails before the minutes of
// compiling. own are the flags of a load of your own.
func (cfg *runConfig) experiments(f, own *pflag.FlagSet, names []string) ([]experiment, error) {
	if cfg.Report != "" && (len(names) > 1 || cfg.Seeds > 1) {
		return nil, errors.New("--report is one file: name one experiment, without --seeds")
	}
	if len(names) == 0 {
		err := cfg.readBreaks()
		first := cfg.own.Plan("bin/loadtest", true).Load.Mix.Seed
		return []experiment{{first: first, run: func(cmd *cobra.Command, seed uint64) error {
			cfg.own.Load.Mix.Seed = seed
			return cfg.play(cmd, cfg.own.Plan("bin/loadtest", true))
		}}}, err
	}
	var odd []string
	f.Visit(func(flag *pflag.Flag) {
		if flag.Name != "seed" && own.Lookup(flag.Name) != nil {
			odd = append(odd, "--"+flag.Name)
		}
	})
	if len(odd) > 0 {
		return nil, fmt.Errorf("a named experiment has its own load: leave %s out, or the name", strings.Join(odd, ", "))
	}
	var all []experiment
	for _, name := range names {
		e, err := cfg.named(name, f.Changed("seed"))
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

// named returns the experiment of that name: a published fault by its letter, or a row of a table.
func (cfg *runConfig) named(name string, seeded bool) (e experiment, err error) {
	if seeded {
		e.first = cfg.own.Load.Mix.Seed
	}
	if letter, side, sided := strings.Cut(name, "/"); len(letter) == 1 {
		return cfg.published(e.first, letter, tables.Side(side), sided)
	}
	name, at, seededByName := strings.Cut(name, "@")
	table := "faults-cell"
	row, found := tables.FindCell(name)
	if !found {
		table = "mutants-only"
		row, found = trial.Find(tables.Mutants(), name)
	}
	switch {
	case !found:
		return e, fmt.Errorf(`no fault, cell or mutant %q: there are A to Q, and what "run faults --list" and `+
			`"run mutants --list" print`, name)
	case row.NA != "":
		return e, fmt.Errorf("%s does not apply: %s", name, row.NA)
	case seededByName && seeded:
		return e, fmt.Errorf("%s@%s has a seed: leave --seed out", name, at)
	case seededByName:
		if e.first, err = strconv.ParseUint(at, 10, 64); err != nil {
			return e, fmt.Errorf("%s: seed %q: want a whole number, 0 or more", name, at)
		}
	}
	e.first = cmp.Or(e.first, 1)
	e.run = func(cmd *cobra.Command, seed uint64) error {
		return runSuite(cmd, trial.Suite{
			Table: table, Experiments: []trial.Experiment{row}, FirstSeed: seed, Out: cfg.Out,
		}, cfg.resultFlags)
	}
	return e, nil
}

// published returns one side of a published fault or, unless it is sided, both. first is the first seed; 0 is the
// default.
func (cfg *runConfig) published(
	first uint64, letter string, side tables.Side, sided bool,
) (e experiment, err error) {
	e.first = cmp.Or(first, tables.FirstSeed)
	f, err := tables.Find(letter)
	switch {
	case err != nil:
		return e, err
	case !sided:
		e.run = func(cmd *cobra.Command, seed uint64) error {
			if first == 0 && seed == e.first {
				seed = 0 // the default of each variant
			}
			return tour(cmd, tourConfig{
				folders: cfg.folders, resultFlags: cfg.resultFlags, Letters: []string{letter}, Seed: seed,
			})
		}
		return e, nil
	case side != tables.Broken && side != tables.Fixed:
		return e, fmt.Errorf("a fault is broken or fixed, not %q", side)
	case f.Plan(side, e.first).Expect.Broken != "":
		e.exit = command.Failed
	}
	e.run = func(cmd *cobra.Command, seed uint64) error { return cfg.play(cmd, f.Plan(side, seed)) }
	return e, nil
}

// readBreaks adds the faults of the flags to the load, and validates it.
func (cfg *runConfig) readBreaks() error {
	for _, text := range cfg.own.Breaks {
		a, err := trial.Parse(text)
		if err != nil {
			return fmt.Errorf("--break %w", err)
		}
		cfg.own.Faults = append(cfg.own.Faults, a)
	}
	return cfg.own.Validate()
}

// play plays a plan, and prints its verdict.
func (cfg *runConfig) play(cmd *cobra.Command, plan tables.Plan) error {
	var record *tables.Record
	err := withPlayer(cmd, cfg.folders, func(p *tables.Player) (err error) {
		command.Progress(cmd.ErrOrStderr())("playing " + plan.Run.String())
		record, err = p.Play(cmd.Context(), plan)
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

// conclude prints the verdict on the last try. It returns the exit code of a verdict other than pass as an error.
func conclude(w io.Writer, r *tables.Record) error {
	if r.Run.Verdict == trial.NotCaught {
		last, _ := strconv.ParseUint(r.Run.Seed, 10, 64) // a plan made it
		var seeds []string
		for i := range uint64(r.Run.Attempt) {
			seeds = append(seeds, strconv.FormatUint(last+i+1-uint64(r.Run.Attempt), 10))
		}
		fmt.Fprintf(w, "not caught this time, with the seeds %s\n", strings.Join(seeds, ", "))
	}
	if r.Run.Sentence != "" {
		fmt.Fprintf(w, "%s: %s\n", r.Run, r.Run.Sentence)
	}
	if err := r.Verdict.Write(w, false); err != nil {
		return err
	}
	return exit(r.Verdict.Outcome)
}
