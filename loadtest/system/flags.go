package system

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"orderstock/stock-service/deduct"
)

// Flags adds flags for the system's size, its strategy, and Cluster.
func (c *Config) Flags(f *pflag.FlagSet) {
	f.IntVar(&c.OrderServices, "order-services", 2, "how many order services to run")
	f.IntVar(&c.StockServices, "stock-services", 2, "how many stock services to run")
	f.StringVar(&c.Strategy, "strategy", deduct.Default,
		"how the stock services deduct: "+strings.Join(deduct.Names(), ", "))
	f.BoolVar(&c.Cluster, "cluster", false,
		"three servers of each kind, so that any one may die; needs MySQL itself (MYSQLD names its mysqld)")
}

// Check returns an error for flags with an invalid value. It warns of an unsafe strategy.
func (c *Config) Check() error {
	if c.OrderServices < 1 || c.StockServices < 1 {
		return fmt.Errorf("at least one of each service is needed, not %d and %d", c.OrderServices, c.StockServices)
	}
	c.Strategy = cmp.Or(c.Strategy, deduct.Default)
	info, err := deduct.Find(c.Strategy)
	if info.Unsafe() {
		c.Progress("WARNING: the strategy " + c.Strategy + " " + info.Warning + "; the verdict says whether it did")
	}
	return err
}
