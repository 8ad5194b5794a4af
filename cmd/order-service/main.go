// Command order-service takes orders and drives each of them to an end.
package main

import (
	"context"

	"github.com/spf13/cobra"

	"orderstock/pkg/command"
	"orderstock/pkg/service"
)

func main() { command.Main(newCommand()) }

func newCommand() *cobra.Command {
	return service.Command("order-service", "Take orders, and drive each of them to an end, exactly once",
		func(ctx context.Context) error {
			cfg, err := readConfig()
			if err != nil {
				return err
			}
			return run(ctx, cfg, nil)
		},
		func() (string, error) {
			cfg, err := readConfig()
			return cfg.ListenAddr, err
		})
}
