package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/verify"
	"orderstock/pkg/command"
	"orderstock/pkg/command/flagset"
	"orderstock/stock-service/deduct"
)

func newCommand(out, progress io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "loadtest",
		Short: "Fire orders at the services, and judge the run",
		Long: `Fire orders at the services, and judge the run.

fire and verify find the services and the databases by the environment:
ORDER_URLS, STOCK_URLS, SERVICE_TOKEN, and VERIFY_ORDER_DSN and VERIFY_STOCK_DSN
of a user who may read. Most other commands start servers and services of their
own.

` + command.Codes,
	}
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return checkTimes(cmd.Flags()) }
	root.SetOut(out)
	root.SetErr(progress)
	root.AddCommand(fireCommand(), verifyCommand(), demoCommand(), runCommand(), benchCommand(), consoleCommand(),
		traceCommand(), judgeCommand(), tokenCommand(), waitCommand())
	return root
}

func benchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "bench", Short: "Measure and compare: strategies, holders of locks, builds and settings, lock packages",
	}
	cmd.AddCommand(ladderCommand(), compareCommand(), locksCommand())
	return cmd
}

// checkTimes returns an error that names the flags with negative times.
func checkTimes(flags *pflag.FlagSet) error {
	var err error
	flags.Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "duration" && strings.HasPrefix(f.Value.String(), "-") {
			err = errors.Join(err, fmt.Errorf("--%s %s: want 0 or more", f.Name, f.Value))
		}
	})
	return err
}

// named replaces names in the tags help.
var named = strings.NewReplacer("{strategies}", strings.Join(deduct.Names(), ", "), "{strategy}", deduct.Default)

// addFlags adds the flags of the settings.
func addFlags(f *pflag.FlagSet, settings any) {
	flagset.Add(f, settings)
	f.VisitAll(func(flag *pflag.Flag) { flag.Usage = named.Replace(flag.Usage) })
}

// bringUp is the advice if no service answers.
const bringUp = `bring the services up with "make up" and then run ". .run/env", or with ` +
	`"docker-compose up -d"; services elsewhere are given with --url and --stock-url`

// firing is a load with its target, the databases behind it, and what becomes of its history.
type firing struct {
	load      fire.Config
	databases verify.Databases
	verifyFlags

	Traced   float64 `flag:"trace-sample" bounds:"0 1" help:"share of the orders that are traced, 0 to 1; the trace is sent to the services (needs OTEL_EXPORTER_OTLP_ENDPOINT, there as well)"`
	NoVerify bool    `flag:"no-verify" help:"only fire; verify later"`
	Report   string  `flag:"report" help:"file for a report as one HTML page that needs no server"`
}

// verifyFlags say how a history is judged, and what becomes of the verdict.
type verifyFlags struct {
	output
	Settle    time.Duration `flag:"settle" default:"30s" bounds:"1ms 24h" help:"how long to wait for unfinished orders to end"`
	LookAgain time.Duration `flag:"look-again" bounds:"0s 24h" help:"how long after a pass to read the books again, such as 15s: an order that has changed since is a violation; 0: do not"`
	Samples   int           `flag:"samples" default:"5" bounds:"1 1000000" help:"how many violations of each invariant to describe"`
}

func (r *firing) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	r.load.Flags(f)
	addFlags(f, r)
	cmd.MarkFlagsMutuallyExclusive("report", "no-verify")
}

func fireCommand() *cobra.Command {
	where, failed := readSurroundings()
	var r firing
	cmd := &cobra.Command{
		Use:     "fire",
		Short:   "Make new products, send orders for more than there is in stock, then verify",
		Args:    cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error { return failed },
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(checkStrategy(where.Strategy), r.config().Validate(), r.load.Validate()); err != nil {
				return command.Misuse(err)
			}
			if err := r.clear(); err != nil {
				return err
			}
			r.load.Target, r.databases = where.target(), where.databases()
			return r.run(cmd)
		},
	}
	addFlags(cmd.Flags(), &where)
	r.flags(cmd)
	return cmd
}

// run fires, keeps the history, and judges it. Its error has the verdict's exit code.
func (r *firing) run(cmd *cobra.Command) (err error) {
	if r.load.Tracer, err = tracer(cmd.Context(), cmd.Flags(), r.Traced); err != nil {
		return err
	}
	r.load.Progress = cmd.ErrOrStderr()
	collectOften()
	h, err := fire.Run(cmd.Context(), r.load)
	if r.load.Tracer != nil {
		if err := r.load.Tracer.Close(context.WithoutCancel(cmd.Context())); err != nil {
			fmt.Fprintln(cmd.ErrOrStderr(), "some spans were not exported:", err)
		}
	}
	if errors.Is(err, fire.ErrUnreachable) {
		return fmt.Errorf("%w; %s", err, bringUp)
	}
	if err != nil {
		return err
	}
	h.Interrupted = h.Interrupted || cmd.Context().Err() != nil
	if err := h.Save(r.history()); err != nil {
		return err
	}
	printed := h.Measure().Write(r.text(cmd)) // a run whose figures cannot be printed is judged all the same
	if r.NoVerify {
		return printed
	}
	ctx := cmd.Context()
	if ctx.Err() != nil {
		fmt.Fprintln(cmd.ErrOrStderr(), "interrupted: judging the run so far; interrupt again to stop")
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(context.WithoutCancel(ctx), os.Interrupt, syscall.SIGTERM)
		defer stop()
		context.AfterFunc(ctx, stop) // a third one ends the program at once
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "judging, once all orders have ended, at most after %s\n", r.Settle)
	cfg := r.config()
	cfg.Databases, cfg.History = r.databases, h
	verdict, err := verifyRun(ctx, cmd, cfg, r.output)
	if err = errors.Join(printed, err); verdict == nil || r.Report == "" {
		return err
	}
	if failed := writeReport(ctx, r.Report, h, verdict, r.databases); failed != nil {
		return failed
	}
	return err
}

// gcPercent replaces GOGC while a run is fired and judged.
const gcPercent = 50

// collectOften collects garbage more often, unless GOGC says how often. The whole history stays in memory, so it saves
// 30 MB with 200,000 orders. It costs verify a tenth more processor time, and fire no more.
func collectOften() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}

func verifyCommand() *cobra.Command {
	where, failed := readSurroundings()
	var flag struct {
		verifyFlags
		Evidence string `flag:"evidence" help:"judge again what a failing run left in this folder, without databases"`
	}
	j := &flag.verifyFlags
	cmd := &cobra.Command{
		Use:     "verify",
		Short:   "Read both databases and the history of the last run, and print the verdict",
		Args:    cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error { return failed },
		RunE: func(cmd *cobra.Command, _ []string) error {
			collectOften()
			cfg := j.config()
			if err := cfg.Validate(); err != nil {
				return command.Misuse(err)
			}
			if flag.Evidence != "" {
				return verifyEvidence(cmd, flag.Evidence, j)
			}
			cfg.Databases, cfg.HistoryPath = where.databases(), j.history()
			_, err := verifyRun(cmd.Context(), cmd, cfg, j.output)
			return err
		},
	}
	addFlags(cmd.Flags(), &flag)
	for _, name := range []string{"settle", "look-again", "history"} { // of live databases, or another history
		cmd.MarkFlagsMutuallyExclusive("evidence", name)
	}
	return cmd
}

// verifyEvidence judges the evidence of a failing run in a folder. Without the flag --out, the verdict is saved there.
func verifyEvidence(cmd *cobra.Command, folder string, j *verifyFlags) error {
	if !cmd.Flags().Changed("out") {
		j.Out = folder
	}
	kept, err := verify.OpenEvidence(filepath.Join(folder, "books.json"))
	if err != nil {
		return err
	}
	h, err := history.Open(filepath.Join(folder, "history.jsonl"))
	if err != nil {
		return err
	}
	return give(cmd, kept.Judge(h, j.Samples), j.output)
}

func (j verifyFlags) config() verify.Config {
	return verify.Config{Settle: j.Settle, LookAgain: j.LookAgain, Terms: verify.Terms{Samples: j.Samples}}
}

// verifyRun verifies, and prints and saves the verdict. It returns the verdict, if there is one, even with an error.
func verifyRun(ctx context.Context, cmd *cobra.Command, cfg verify.Config, to output) (*verify.Verdict, error) {
	cfg.Judged = func(first *verify.Verdict) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s\nreading the books again in %s\n", first, cfg.LookAgain)
	}
	verdict, err := verify.Run(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return verdict, give(cmd, verdict, to)
}

// give saves and prints a verdict. Its error has the verdict's exit code.
func give(cmd *cobra.Command, verdict *verify.Verdict, to output) (err error) {
	if err := history.SaveJSON(to.verdict(), verdict); err != nil {
		return err
	}
	if to.JSON {
		err = history.WriteJSON(cmd.OutOrStdout(), verdict)
	} else {
		_, _ = fmt.Fprintln(cmd.OutOrStdout())
		err = verdict.Write(cmd.OutOrStdout(), to.All)
	}
	if err != nil {
		return err
	}
	return exit(verdict.Outcome)
}

func tokenCommand() *cobra.Command {
	where, failed := readSurroundings()
	return &cobra.Command{
		Use:     "token",
		Short:   "Print SERVICE_TOKEN, which the stock service wants of calls by hand",
		Args:    cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error { return failed },
		RunE: func(cmd *cobra.Command, _ []string) error {
			if where.StockToken == "" {
				return command.Misuse(errors.New("neither SERVICE_TOKEN nor SERVICE_TOKEN_FILE is set"))
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), where.StockToken)
			return err
		},
	}
}
