// Mutants proves that the checker can fail: it runs broken variants of the
// services and demands that each is caught by the invariant named beforehand.
package main

import (
	"errors"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"orderstock/loadtest/mutants"
	"orderstock/pkg/command"
)

var errFailed = errors.New("a mutant was not caught as it should be")

func main() { command.Main(newCommand()) }

func newCommand() *cobra.Command {
	var cfg mutants.Config
	cmd := &cobra.Command{
		Use:   "mutants",
		Short: "Run broken variants of the services; each must be caught",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg.Print = cmd.OutOrStdout()
			report, err := mutants.Execute(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			if !report.OK() {
				return errFailed
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&cfg.Only, "only", os.Getenv("ONLY"), "run the rows whose name holds this (ONLY)")
	seeds, _ := strconv.Atoi(os.Getenv("TRIES")) // what is no number means the default
	cmd.Flags().IntVar(&cfg.Tries, "tries", seeds, "seeds that an absorbed variant must bear, 3 by default (TRIES)")
	cmd.Flags().StringVar(&cfg.Out, "out", "out", "folder for mutants.json")
	return cmd
}
