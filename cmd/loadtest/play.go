package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"orderstock/loadtest/catalogue"
	"orderstock/loadtest/console"
	"orderstock/loadtest/fire"
	"orderstock/loadtest/verify"
	"orderstock/pkg/command"
	"orderstock/stock-service/deduct/strategy"
)

// playConfig has the flags of play.
type playConfig struct {
	fixed    bool
	out, bin string
	load     fire.Config
	settle   time.Duration
	strategy string
	breaks   []string
}

func playCommand() *cobra.Command {
	var cfg playConfig
	cmd := &cobra.Command{
		Use:   "play [FAULT]",
		Short: "Play a published fault, A to Q, broken or fixed, or a scenario of your own; the exit code is the verdict's",
		Long: `Play a published fault, A to Q, broken or fixed, or a scenario of your own.

It starts new servers and services, and stops them at the end. A broken
variant that is not caught is tried with the two seeds after the first, too, and
a line above the verdict says so if none of them caught it. The last line is the
verdict, the exit code the verdict's. The run is kept as the console keeps its
runs.

Without FAULT, the flags say what is fired and what breaks meanwhile.`,
		Example: `  loadtest play A
  loadtest play A --fixed --seed 42
  loadtest play --orders 800 --strategy sequential --break "1s pause stock-1" ` +
			`--break "2s arm-kill stock-2 before commit"`,
		Args: cobra.MaximumNArgs(1),
	}
	f := cmd.Flags()
	loadFlags(f, &cfg.load)
	f.DurationVar(&cfg.settle, "settle", 20*time.Second, "how long to wait for unfinished orders to end")
	f.StringVar(&cfg.strategy, "strategy", "",
		"how the stock services deduct: "+strings.Join(strategy.Names(), ", ")+" (default "+strategy.Default+")")
	f.StringArrayVar(&cfg.breaks, "break", nil,
		`what breaks and when, from the first order: "1s pause stock-1", "1s cut stock-1 to mysql", `+
			`"1s arm-kill stock-1 before commit"`)
	scenario := names(f)
	f.BoolVar(&cfg.fixed, "fixed", false, "with FAULT: play the product instead of the broken variant")
	f.StringVar(&cfg.out, "out", "out", "folder that keeps the runs")
	f.StringVar(&cfg.bin, "bin", "bin/faults", "folder for the services that can be broken")
	f.Lookup("seed").Usage = "makes the same orders again (default 42 for a fault, else random)"
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		begin, err := cfg.selected(f, scenario, args)
		if err != nil {
			return err
		}
		var (
			run console.Run
			v   *console.Verdict
		)
		if err := withConsole(cmd, cfg.out, cfg.bin, func(ctx context.Context, c *console.Console) (err error) {
			run, v, err = play(ctx, cmd, c, begin)
			return err
		}); err != nil {
			return err
		}
		return conclude(cmd.OutOrStdout(), run, v)
	}
	return cmd
}

// conclude prints the verdict on the last attempt; run is the first. It returns the exit code of a verdict other than
// pass as an error.
func conclude(w io.Writer, run console.Run, v *console.Verdict) error {
	if run.Attempts > 1 && v.Outcome == verify.Pass { // only runs that should fail have several attempts
		first, _ := strconv.ParseUint(run.Seed, 10, 64) // formatted by the console
		var seeds []string
		for i := range uint64(run.Attempts) {
			seeds = append(seeds, strconv.FormatUint(first+i, 10))
		}
		fmt.Fprintf(w, "not caught this time, with the seeds %s\n", strings.Join(seeds, ", "))
	}
	if err := v.Write(w, false); err != nil {
		return err
	}
	if code := v.Outcome.ExitCode(); code != command.Passed {
		return &command.ExitError{Code: code} // the verdict was printed
	}
	return nil
}

// names returns the names of all flags so far.
func names(f *pflag.FlagSet) (all []string) {
	f.VisitAll(func(flag *pflag.Flag) { all = append(all, flag.Name) })
	return all
}

// selected returns the run to play, or an error before minutes of compiling. scenario names the flags that a
// published fault ignores.
func (cfg *playConfig) selected(
	f *pflag.FlagSet, scenario, args []string,
) (func(*console.Console) (console.Run, error), error) {
	seed := ""
	if cfg.load.Mix.Seed != 0 {
		seed = strconv.FormatUint(cfg.load.Mix.Seed, 10)
	}
	if len(args) > 0 {
		var odd []string
		f.Visit(func(flag *pflag.Flag) {
			if flag.Name != "seed" && slices.Contains(scenario, flag.Name) {
				odd = append(odd, "--"+flag.Name)
			}
		})
		if len(odd) > 0 {
			return nil, fmt.Errorf("a published fault has its own scenario: leave %s out, or the letter",
				strings.Join(odd, ", "))
		}
		variant := catalogue.Broken
		if cfg.fixed {
			variant = catalogue.Fixed
		}
		_, err := catalogue.Find(args[0])
		return func(c *console.Console) (console.Run, error) { return c.Play(args[0], variant, seed) }, err
	}
	if cfg.fixed {
		return nil, errors.New("--fixed needs the letter of a published fault")
	}
	s := console.ScenarioOf(cfg.load)
	s.Strategy, s.SettleS = cfg.strategy, cfg.settle.Seconds()
	for _, text := range cfg.breaks {
		a, err := console.ParseAction(text)
		if err != nil {
			return nil, fmt.Errorf("--break %w", err)
		}
		s.Faults = append(s.Faults, a)
	}
	return func(c *console.Console) (console.Run, error) { return c.Fire(s) }, s.Validate()
}

// withConsole calls do with a console in a new lab, and closes both.
func withConsole(cmd *cobra.Command, out, bin string, do func(context.Context, *console.Console) error) (err error) {
	l, err := startLab(cmd, bin)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	c, err := console.Lab(l.Lab, out)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	ran := make(chan error, 1)
	go func() { ran <- c.Run(ctx) }()
	err = do(ctx, c)
	cancel()
	return errors.Join(err, <-ran)
}

// play plays the run started by begin, and returns the first attempt and the verdict on the last.
func play(
	ctx context.Context, cmd *cobra.Command, c *console.Console, begin func(*console.Console) (console.Run, error),
) (console.Run, *console.Verdict, error) {
	say := command.Progress(cmd.ErrOrStderr())
	run, err := begin(c)
	if err != nil {
		return run, nil, err
	}
	variant := ""
	if run.Variant != "" {
		variant = ", " + run.Variant
	}
	say(fmt.Sprintf("playing %s%s, seed %s", run.Title, variant, run.Seed))
	v, err := c.Await(ctx)
	return run, v, err
}
