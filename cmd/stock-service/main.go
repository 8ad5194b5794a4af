// Command stock-service owns the stock: it carries deductions out, once each,
// and never sells more than there is.
package main

import (
	"context"

	"github.com/spf13/cobra"

	"orderstock/pkg/command"
	"orderstock/pkg/service"
)

func main() { command.Main(newCommand()) }

func newCommand() *cobra.Command {
	var opts options
	c := service.Command("stock-service", "Own the stock: deduct it once for each order, and never oversell",
		func(ctx context.Context) error {
			cfg, err := readConfig()
			if err != nil {
				return err
			}
			return run(ctx, cfg, opts)
		},
		func() (string, error) {
			cfg, err := readConfig()
			return cfg.ListenAddr, err
		})
	c.PersistentFlags().BoolVar(&opts.allowUnsafe, "allow-unsafe", false, "let STOCK_STRATEGY=unsafe oversell")
	return c
}
