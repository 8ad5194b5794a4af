package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	shopjudge "orderstock/loadtest/judge"
	shops "orderstock/loadtest/judge/demo"
	"orderstock/loadtest/judge/shop"
	"orderstock/pkg/command"
	"orderstock/pkg/servers"
)

// judgeConfig has the flags of judge.
type judgeConfig struct {
	shopjudge.Config
	resultFlags
}

func (c *judgeConfig) flags(f *pflag.FlagSet) {
	within(f, &c.Orders, "orders", 0, 0, 100_000,
		"orders of each phase (default: half as many again as empty the stock)")
	within(f, &c.Clients, "clients", 40, 1, 1000, "calls at the same time")
	f.Uint64Var(&c.Seed, "seed", 1, "makes the same orders and repeats again")
	f.StringSliceVar(&c.Hosts, "host", nil,
		"the target's host, if that is another machine; it must be one where you may do this")
	c.resultFlags.flags(f)
}

func judgeCommand() *cobra.Command {
	var cfg judgeConfig
	cmd := &cobra.Command{
		Use:   "judge FILE",
		Short: "Judge any shop with an ordering API: does it oversell, double, forget or contradict itself?",
		Long: `Judge any shop with an ordering API, described by a file. It sends orders for
more than there is in up to four phases, and compares the answers with each
other and with the shop's databases:

  alone     one client after another
  together  calls that overlap
  repeated  double clicks, lost answers, repeats under the same key
  killed    kill -9 in the middle, a restart, repeats (needs service: in the file)

loadtest/judge/README.md describes the file and what each violation means.

Exit code: 0 everything holds, 1 violation, 2 cannot tell.`,
		Example: `  loadtest judge new --curl "curl -X POST http://127.0.0.1:8080/api/orders -H 'Idempotency-Key: a' -d '{…}'" > shop.yaml
  loadtest judge try shop.yaml
  loadtest judge shop.yaml --orders 400 --clients 40 --seed 7 --report out.html`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cfg.load(args[0]); err != nil {
				return err
			}
			cfg.Progress = cmd.ErrOrStderr()
			cfg.Done = func(p shopjudge.Phase) { p.Write(cfg.text(cmd)) }
			result, err := shopjudge.Run(cmd.Context(), cfg.Config)
			return cfg.conclude(cmd, result, err)
		},
	}
	cfg.flags(cmd.Flags())
	cmd.Flags().StringSliceVar(&cfg.Phases, "phase", nil, "run these phases only: "+strings.Join(shopjudge.Phases(), ", "))
	cmd.AddCommand(judgeNewCommand(), judgeTryCommand(), judgeDemoCommand())
	return cmd
}

// load reads the file.
func (c *judgeConfig) load(file string) (err error) {
	c.Name = filepath.Base(file)
	c.File, err = shop.Load(file, c.Hosts)
	return err
}

// conclude prints the reasons and the verdict, saves the report, and returns the exit code.
func (c *judgeConfig) conclude(cmd *cobra.Command, result *shopjudge.Result, err error) error {
	if err != nil {
		return err
	}
	for _, reason := range result.Reasons {
		fmt.Fprintln(c.text(cmd), "unknown:", reason)
	}
	fmt.Fprintln(c.text(cmd), result)
	if err := c.save(cmd, "", result); err != nil {
		return err
	}
	return exit(result.Outcome, nil)
}

func judgeNewCommand() *cobra.Command {
	var curl string
	cmd := &cobra.Command{
		Use:   "new --curl COMMAND",
		Short: "Print a file for the order that a curl command places, to be completed",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := shop.FromCurl(curl)
			if err != nil {
				return err
			}
			_, err = io.WriteString(cmd.OutOrStdout(), text)
			return err
		},
	}
	cmd.Flags().StringVar(&curl, "curl", "", "the command, as a browser copies it")
	if err := cmd.MarkFlagRequired("curl"); err != nil {
		panic(err) // there is no such flag
	}
	return cmd
}

func judgeTryCommand() *cobra.Command {
	var cfg judgeConfig
	cmd := &cobra.Command{
		Use:   "try FILE",
		Short: "Send one order, its repeat, and orders until sold out; show how each answer was read and which rows changed",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cfg.load(args[0]); err != nil {
				return err
			}
			result, err := shopjudge.Try(cmd.Context(), cfg.Config, cfg.text(cmd))
			if err == nil {
				for i := range result.Phases {
					result.Phases[i].Write(cfg.text(cmd))
				}
			}
			return cfg.conclude(cmd, result, err)
		},
	}
	cfg.flags(cmd.Flags())
	return cmd
}

func judgeDemoCommand() *cobra.Command {
	var seed uint64
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Judge six small shops, one right and five wrong, on a new MySQL server",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return judgeDemo(cmd, seed) },
	}
	cmd.Flags().Uint64Var(&seed, "seed", 1, "makes the same orders and repeats again")
	return cmd
}

// judgeDemo judges the shops of the demo. It fails unless each is judged for what it does.
func judgeDemo(cmd *cobra.Command, seed uint64) (err error) {
	ctx := cmd.Context()
	dir, err := os.MkdirTemp("", "orderstock-judge-")
	if err != nil {
		return fmt.Errorf("judge demo: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	fmt.Fprintln(cmd.ErrOrStderr(), "starting MySQL in "+dir)
	server, err := servers.StartMySQL(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Kill()) }()
	table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SHOP\tFAILS IN\tVIOLATED\tWHAT IT DOES")
	asExpected := true
	for i, s := range shops.Shops() {
		name := fmt.Sprintf("shop_%d", i)
		if err := server.Exec(ctx, "CREATE DATABASE "+name); err != nil {
			return err
		}
		r, err := judgeDemoShop(ctx, s, server.AdminDSNFor(name), seed, cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		phase, violated := shops.Found(r)
		if phase == "" {
			phase, violated = string(r.Outcome), []string{"-"}
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", s.Name, phase, strings.Join(violated, ", "), s.Says)
		asExpected = asExpected && s.Judged(r)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("judge demo: %w", err)
	}
	if !asExpected {
		return command.Fail(errors.New("a shop was not judged for what it does"))
	}
	return nil
}

func judgeDemoShop(ctx context.Context, s shops.Shop, dsn string, seed uint64, progress io.Writer) (*shopjudge.Result, error) {
	fmt.Fprintln(progress, "judging "+s.Name)
	return shops.Judge(ctx, s, dsn, seed, progress)
}
