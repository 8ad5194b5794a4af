package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"orderstock/loadtest/history"
	"orderstock/loadtest/judge"
	"orderstock/loadtest/judge/demo"
	"orderstock/loadtest/judge/example"
	"orderstock/loadtest/judge/shop"
	"orderstock/loadtest/report"
	"orderstock/loadtest/verify"
	"orderstock/pkg/command"
	"orderstock/pkg/command/flagset"
	"orderstock/pkg/servers"
)

// program is the command that has started this one: judge, judge-linux-amd64 or loadtest judge.
var program = filepath.Base(os.Args[0])

// examples returns the examples of a command, with its program's name in the place of $.
func examples(text string) string { return strings.ReplaceAll(text, "  $ ", "  "+program+" ") }

// config has the flags.
type config struct {
	judge.Config
	output
}

// output has the flags that say where the result goes.
type output struct {
	JSON   bool   `flag:"json" help:"print the result as JSON, and the text to the standard error"`
	Report string `flag:"report" help:"file for a report as one HTML page that needs no server"`
	JUnit  string `flag:"junit" help:"file for a report as XML of JUnit, which CI systems show"`
}

// badFile is the exit code of a file that cannot be read or has a mistake. Nothing was sent.
const badFile = 65

// codes describes the exit codes.
const codes = command.Codes + "\n65 the file cannot be read, or has a mistake."

func newCommand(out, progress io.Writer) *cobra.Command {
	var (
		cfg    config
		within time.Duration
	)
	cmd := &cobra.Command{
		Use:   "judge FILE",
		Short: "Judge any shop with an ordering API: does it oversell, double, forget or contradict itself?",
		Long: `Judge any shop with an ordering API, described by a file. It sends orders for
more than there is in up to five phases, and compares the answers with each
other and with the shop's databases:

` + phases() + `
loadtest/judge/README.md describes the file and what each violation means.

` + codes,
		Example: examples(`  $ new --curl "curl http://127.0.0.1/orders -H 'Idempotency-Key: a' -d '{…}'" >shop.yaml
  $ try shop.yaml
  $ shop.yaml --orders 400 --clients 40 --seed 7 --report out.html --out evidence
  $ shop.yaml --for 10m
  $ again evidence`),
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cfg.load(args[0]); err != nil {
				return err
			}
			cfg.Program, cfg.Progress = program, cmd.ErrOrStderr()
			cfg.Done = func(p judge.Phase) { p.Write(cfg.text(cmd)) }
			result, err := cfg.judge(cmd.Context(), within)
			if err != nil && cmd.Context().Err() == nil {
				return command.Misuse(err) // the name of a phase, a time or a folder
			}
			return cfg.conclude(cmd, result, err)
		},
	}
	cmd.SetOut(out)
	cmd.SetErr(progress)
	flagset.Add(cmd.Flags(), &cfg)
	cmd.Flags().StringSliceVar(&cfg.Phases, "phase", nil, "run these phases only: "+strings.Join(judge.Phases(), ", "))
	cmd.Flags().DurationVar(&within, "for", 0,
		"repeat with new seeds for so long, until something is found; then find the smallest load for it")
	cmd.Flags().StringVar(&cfg.Out, "out", "", "keep all calls, rows and the file in this new folder, for judge again")
	cmd.AddCommand(fileCommand(), tryCommand(), againCommand(), demoCommand())
	return cmd
}

// phases lists the phases, for the help.
func phases() (lines string) {
	needs := map[string]string{judge.Killed: " (needs service:)", judge.Cancelled: " (needs cancel:)"}
	for _, name := range judge.Phases() {
		lines += fmt.Sprintf("  %-9s %s%s\n", name, judge.Sends(name), needs[name])
	}
	return lines
}

// judge judges once, or searches for so long.
func (c *config) judge(ctx context.Context, within time.Duration) (*judge.Result, error) {
	switch {
	case within < 0:
		return nil, fmt.Errorf("invalid argument %q for \"--for\" flag: want a time above 0, such as 10m", within)
	case within > 0:
		return judge.Search(ctx, c.Config, within)
	}
	return judge.Run(ctx, c.Config)
}

// load reads the file.
func (c *config) load(file string) (err error) {
	c.Name = filepath.Base(file)
	if c.File, err = shop.Load(file, c.Hosts); err != nil {
		return &command.ExitError{Code: badFile, Err: err}
	}
	return nil
}

// conclude prints the end of the result, saves the report, and returns the exit code.
func (c *output) conclude(cmd *cobra.Command, result *judge.Result, err error) error {
	if err != nil {
		return err
	}
	result.Write(c.text(cmd))
	if c.JSON {
		err = history.WriteJSON(cmd.OutOrStdout(), result)
	}
	if c.Report != "" {
		err = errors.Join(err, result.Sheet().Save(c.Report))
	}
	if c.JUnit != "" {
		err = errors.Join(err, result.SaveJUnit(c.JUnit))
	}
	if err == nil && result.Outcome != verify.Pass {
		err = &command.ExitError{Code: result.Outcome.ExitCode()}
	}
	return err
}

// text returns where the text goes.
func (c *output) text(cmd *cobra.Command) io.Writer {
	if c.JSON {
		return cmd.ErrOrStderr()
	}
	return cmd.OutOrStdout()
}

func fileCommand() *cobra.Command {
	var curl, openapi, har, operation, named string
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Print a file for an order, to be completed: of a curl command, an OpenAPI document, a HAR file or an example",
		Example: examples(`  $ new --curl "curl http://127.0.0.1/orders -d '{…}'" >shop.yaml
  $ new --openapi openapi.yaml --operation createOrder >shop.yaml
  $ new --har shop.har --operation "POST /orders" >shop.yaml
  $ new --example payment >shop.yaml`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			var text string
			switch {
			case curl != "":
				text, err = shop.FromCurl(curl)
			case named != "":
				var found bool
				if text, found = example.Text(named); !found {
					err = fmt.Errorf("there is no example %q; there are %s", named, strings.Join(example.Names(), ", "))
				}
			case openapi != "":
				text, err = fileOf(cmd, openapi, operation, shop.FromOpenAPI)
			default:
				text, err = fileOf(cmd, har, operation, shop.FromHAR)
			}
			if exit, ok := errors.AsType[*command.ExitError](err); ok {
				return exit
			} else if err != nil {
				return command.Misuse(err)
			}
			_, err = io.WriteString(cmd.OutOrStdout(), text)
			return err
		},
	}
	cmd.Flags().StringVar(&curl, "curl", "", "the command, as a browser copies it")
	cmd.Flags().StringVar(&openapi, "openapi", "", "file with an OpenAPI document, in JSON or YAML")
	cmd.Flags().StringVar(&har, "har", "", "file of requests, as the browser's network panel saves it")
	cmd.Flags().StringVar(&operation, "operation", "",
		"the one that orders: its operationId, or its method and path (default: it asks)")
	cmd.Flags().StringVar(&named, "example", "", "an example: "+strings.Join(example.Names(), ", "))
	cmd.MarkFlagsOneRequired("curl", "openapi", "har", "example")
	cmd.MarkFlagsMutuallyExclusive("curl", "openapi", "har", "example")
	cmd.MarkFlagsMutuallyExclusive("curl", "operation")
	cmd.MarkFlagsMutuallyExclusive("example", "operation")
	return cmd
}

// fileOf returns the file for the operation of a document that its user names, or chooses when asked.
func fileOf(
	cmd *cobra.Command, name, operation string, read func([]byte) ([]shop.Operation, error),
) (string, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return "", &command.ExitError{Code: badFile, Err: err}
	}
	operations, err := read(text)
	if err != nil {
		return "", &command.ExitError{Code: badFile, Err: fmt.Errorf("%s: %w", name, err)}
	}
	list := ""
	for i, o := range operations {
		if o.Is(operation) {
			return o.File()
		}
		list += fmt.Sprintf("%3d  %s  %s\n", i+1, o.Name, o.ID)
	}
	if operation != "" {
		return "", fmt.Errorf("there is no operation %q; there are\n%s", operation, list)
	}
	if len(operations) == 1 {
		return operations[0].File()
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%sWhich one orders? Its number, or Enter for 1: ", list)
	line, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("no operation was chosen: give --operation, one of\n%s", list)
	}
	number, err := strconv.Atoi(cmp.Or(strings.TrimSpace(line), "1"))
	if err != nil || number < 1 || number > len(operations) {
		return "", fmt.Errorf("%q: want a number from 1 to %d", strings.TrimSpace(line), len(operations))
	}
	return operations[number-1].File()
}

func tryCommand() *cobra.Command {
	var cfg config
	cmd := &cobra.Command{
		Use:   "try FILE",
		Short: "Send one order, its repeat, and orders until sold out; show how each answer was read and which rows changed",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cfg.load(args[0]); err != nil {
				return err
			}
			result, err := judge.Try(cmd.Context(), cfg.Config, cfg.text(cmd))
			if err == nil {
				for i := range result.Phases {
					result.Phases[i].Write(cfg.text(cmd))
				}
			}
			return cfg.conclude(cmd, result, err)
		},
	}
	flagset.Add(cmd.Flags(), &cfg)
	return cmd
}

func againCommand() *cobra.Command {
	var to output
	cmd := &cobra.Command{
		Use:   "again DIR",
		Short: "Judge the evidence in a folder again, after a change of the file there; no order is sent",
		Long: `Judge the evidence that --out has kept in a folder again. Change shop.yaml there
before: answers, books.sold and books.void count as they are now, for the calls
and rows that were kept. A changed query is asked for the last phase, whose rows
must still be there. No order is sent.

` + codes,
		Example: examples(`  $ shop.yaml --out evidence
  $ again evidence --report out.html`),
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			result, err := judge.Again(cmd.Context(), args[0])
			if err != nil && cmd.Context().Err() == nil {
				return &command.ExitError{Code: badFile, Err: err}
			}
			if err == nil {
				for i := range result.Phases {
					result.Phases[i].Write(to.text(cmd))
				}
			}
			return to.conclude(cmd, result, err)
		},
	}
	flagset.Add(cmd.Flags(), &to)
	return cmd
}

func demoCommand() *cobra.Command {
	var seed uint64
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Judge thirteen small shops, two right and eleven wrong, on a new MySQL server",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return runDemo(cmd, seed) },
	}
	cmd.Flags().Uint64Var(&seed, "seed", 1, "makes the same orders and repeats again")
	return cmd
}

// runDemo judges the shops of the demo. It fails unless each gets the verdict that it should get.
func runDemo(cmd *cobra.Command, seed uint64) (err error) {
	ctx := cmd.Context()
	dir, err := os.MkdirTemp("", "orderstock-judge-")
	if err != nil {
		return fmt.Errorf("judge demo: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	fmt.Fprintln(cmd.ErrOrStderr(), "starting MySQL in "+dir)
	server, err := servers.StartMySQL(ctx, servers.Options{Dir: dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Kill()) }()
	table := report.NewTable("SHOP", "FAILS IN", "VIOLATED", "WHAT IT DOES")
	asExpected := true
	for i, s := range demo.Shops() {
		name := fmt.Sprintf("shop_%d", i)
		if err := server.Exec(ctx, "CREATE DATABASE "+name); err != nil {
			return err
		}
		r, err := judgeShop(ctx, s, server.AdminDSNFor(name), seed, cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		phase, violated := demo.Found(r)
		if phase == "" {
			phase, violated = string(r.Outcome), []string{"-"}
		}
		table.Add(false, s.Name, phase, strings.Join(violated, ", "), s.Says)
		asExpected = asExpected && s.Judged(r)
	}
	if err := table.Text(cmd.OutOrStdout()); err != nil {
		return err
	}
	if !asExpected {
		return command.Fail(errors.New("a shop was not judged for what it does"))
	}
	return nil
}

func judgeShop(ctx context.Context, s demo.Shop, dsn string, seed uint64, progress io.Writer) (*judge.Result, error) {
	fmt.Fprintln(progress, "judging "+s.Name)
	return demo.Judge(ctx, s, dsn, seed, progress)
}
