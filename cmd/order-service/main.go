// Command order-service takes orders and drives each of them to an outcome.
package main

import (
	"context"

	"github.com/spf13/cobra"

	"orderstock/pkg/command"
	"orderstock/pkg/config"
	"orderstock/pkg/service"
)

func main() { command.Main(newCommand()) }

func newCommand() *cobra.Command {
	return service.Command(service.Program{
		Name: "order-service", Short: "Take orders, and drive each of them to an end, exactly once",
		Environment: environment,
		Serve: func(ctx context.Context) error {
			cfg, err := config.Read[settings]()
			if err != nil {
				return err
			}
			return run(ctx, cfg, nil)
		},
		Listens: func() (string, bool, error) {
			cfg, err := config.Read[settings]()
			return cfg.ListenAddr, cfg.TLSCert != "", err
		},
	})
}
