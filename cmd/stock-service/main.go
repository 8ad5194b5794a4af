// Command stock-service owns the stock. It deducts once for each operation, and never oversells.
package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"orderstock/pkg/command"
	"orderstock/pkg/service"
	"orderstock/stock-service/deduct/strategy"
)

func main() { command.Main(newCommand()) }

func newCommand() *cobra.Command {
	var opts options
	c := service.Command(service.Program{
		Name: "stock-service", Short: "Own the stock: deduct it once for each order, and never oversell",
		Environment: environment + "\nSTOCK_STRATEGY is one of:\n" + strategies(),
		Serve: func(ctx context.Context) error {
			cfg, err := readSettings()
			if err != nil {
				return err
			}
			return run(ctx, cfg, opts)
		},
		Listens: func() (string, bool, error) {
			cfg, err := readSettings()
			return cfg.ListenAddr, cfg.TLSCert != "", err
		},
	})
	c.PersistentFlags().BoolVar(&opts.allowUnsafe, "allow-unsafe", false,
		"permit a strategy that oversells or loses operations")
	return c
}

// strategies returns a line for each strategy.
func strategies() string {
	var text strings.Builder
	for _, s := range strategy.All {
		fmt.Fprintf(&text, "  %-18s  %s\n", s.Name, s.Summary)
	}
	return text.String() + "The default is " + strategy.Default + "."
}
