package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"orderstock/pkg/command"
	"orderstock/pkg/httpapi"
)

// askEvery is the time between two looks at the services.
const askEvery = 500 * time.Millisecond

func waitCommand() *cobra.Command {
	var cfg struct {
		For time.Duration `flag:"for" default:"10m" help:"how long to wait"`
	}
	where, failed := readSurroundings()
	cmd := &cobra.Command{
		Use:   "wait",
		Short: "Wait until all services are ready",
		Long: `Wait until all services at ORDER_URLS and STOCK_URLS are ready.

Exit code: 0 they are, 1 some are not after the time; the error names them.`,
		Args:    cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error { return failed },
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := where.wait(cmd.Context(), cfg.For, command.Progress(cmd.ErrOrStderr()))
			if cmd.Context().Err() != nil {
				return err
			}
			return command.Fail(err)
		},
	}
	addFlags(cmd.Flags(), &cfg)
	return cmd
}

// wait returns nil once all services are ready. When the limit is over or ctx ends, its error names the others. It
// calls say whenever others are missing.
func (s surroundings) wait(ctx context.Context, limit time.Duration, say func(string)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	last := ""
	for {
		missing := s.missing(ctx)
		if missing == nil {
			return nil
		}
		if now := missing.Error(); ctx.Err() == nil && now != last {
			last = now
			say(now)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("not ready after %s: %s", limit, cmp.Or(last, missing.Error()))
		}
	}
}

// missing returns an error that names the services that are not ready.
func (s surroundings) missing(ctx context.Context) error {
	var all []error
	ask := func(kind string, urls []string) {
		for _, url := range urls {
			if err := httpapi.AskHealth(ctx, url+"/readyz"); err != nil {
				all = append(all, fmt.Errorf("%s service: %w", kind, err))
			}
		}
	}
	ask("order", s.OrderURLs)
	ask("stock", s.StockURLs)
	return errors.Join(all...)
}
