package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"orderstock/loadtest"
	"orderstock/pkg/command"
)

func newCommand(out, progress io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "loadtest",
		Short: "Fire orders at the services, and judge what came of them",
		Long: `Fire orders at the services, and judge what came of them.

For fire and verify, where things are comes from the environment: ORDER_URLS,
STOCK_URLS, SERVICE_TOKEN, and VERIFY_ORDER_DSN and VERIFY_STOCK_DSN of a user
who may read. The others start servers and services of their own.

Exit code: 0 everything holds, 1 violation, 2 cannot tell.`,
	}
	root.SetOut(out)
	root.SetErr(progress)
	root.AddCommand(fireCommand(), verifyCommand(), faultsCommand(), mutantsCommand(), ladderCommand(), locksCommand())
	return root
}

func fireCommand() *cobra.Command {
	where, failed := readSurroundings()
	var (
		to       output
		verify   loadtest.VerifyConfig
		noVerify bool
	)
	cmd := &cobra.Command{
		Use:   "fire",
		Short: "Make fresh goods, send orders for more than there is, then verify",
		Args:  cobra.NoArgs,
	}
	cfg := fireFlags(cmd.Flags(), &where)
	to.flags(cmd.Flags())
	verifyFlags(cmd, &verify)
	cmd.Flags().BoolVar(&noVerify, "no-verify", false, "only fire; verify later")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if failed != nil {
			return failed
		}
		cfg.OrderURLs, cfg.StockURLs, cfg.StockToken = where.OrderURLs, where.StockURLs, where.StockToken
		cfg.HistoryPath, cfg.Progress = to.history(), cmd.ErrOrStderr()
		report, err := loadtest.Fire(cmd.Context(), *cfg)
		if err != nil {
			return err
		}
		text := cmd.OutOrStdout()
		if to.json {
			text = cmd.ErrOrStderr()
		}
		if err := report.Write(text); err != nil {
			return err
		}
		if noVerify || cmd.Context().Err() != nil {
			return cmd.Context().Err()
		}
		verify.History = report.History
		return judge(cmd, where, verify, to)
	}
	return cmd
}

func verifyCommand() *cobra.Command {
	where, failed := readSurroundings()
	var (
		to     output
		verify loadtest.VerifyConfig
	)
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Read both databases and the history of the last run, and print the verdict",
		Args:  cobra.NoArgs,
	}
	to.flags(cmd.Flags())
	verifyFlags(cmd, &verify)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if failed != nil {
			return failed
		}
		verify.HistoryPath = to.history()
		return judge(cmd, where, verify, to)
	}
	return cmd
}

func verifyFlags(cmd *cobra.Command, cfg *loadtest.VerifyConfig) {
	cmd.Flags().DurationVar(&cfg.Settle, "settle", loadtest.DefaultSettle, "how long to wait for unfinished orders to end")
	cmd.Flags().IntVar(&cfg.Samples, "samples", 5, "violations of each invariant to tell in words")
}

// judge verifies, prints and saves the verdict.
func judge(cmd *cobra.Command, where surroundings, cfg loadtest.VerifyConfig, to output) error {
	cfg.OrderDSN, cfg.StockDSN = where.OrderDSN, where.StockDSN
	verdict, err := loadtest.Verify(cmd.Context(), cfg)
	if err != nil {
		return err
	}
	if err := verdict.Save(to.verdict()); err != nil {
		return err
	}
	if to.json {
		err = verdict.WriteJSON(cmd.OutOrStdout())
	} else {
		_, _ = fmt.Fprintln(cmd.OutOrStdout())
		err = verdict.Write(cmd.OutOrStdout())
	}
	if err != nil {
		return err
	}
	if code := verdict.Outcome.ExitCode(); code != command.Passed {
		return &command.ExitError{Code: code} // the verdict was printed
	}
	return nil
}
