package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

func tokenCommand() *cobra.Command {
	where, failed := readSurroundings()
	return &cobra.Command{
		Use:   "token",
		Short: "Print SERVICE_TOKEN, which the stock service wants of calls by hand",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if failed == nil && where.StockToken == "" {
				failed = errors.New("neither SERVICE_TOKEN nor SERVICE_TOKEN_FILE is set")
			}
			if failed == nil {
				_, failed = fmt.Fprintln(cmd.OutOrStdout(), where.StockToken)
			}
			return failed
		},
	}
}
