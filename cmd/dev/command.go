package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"orderstock/loadtest/stack"
	"orderstock/pkg/command"
	"orderstock/stock-service/deduct/strategy"
)

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "dev",
		Short: "Run orderstock with real servers on this machine",
	}
	root.AddCommand(
		demoCommand(), upCommand(), holdCommand(), downCommand(), statusCommand(),
		testCommand(), readmeCommand(), exportCommand())
	return root
}

// size is the size of a stack, and the deduction strategy of its stock services.
type size struct {
	orders, stocks int
	strategy       string
	cluster        bool
}

func (s *size) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&s.orders, "order-services", 2, "how many order services to run")
	f.IntVar(&s.stocks, "stock-services", 2, "how many stock services to run")
	f.StringVar(&s.strategy, "strategy", strategy.Default,
		"how the stock services deduct: "+strings.Join(strategy.Names(), ", "))
	f.BoolVar(&s.cluster, "cluster", false,
		"three servers of each kind, so that any one may die; needs MySQL itself (MYSQLD names its mysqld)")
}

// args returns the arguments for the flags of the same size.
func (s *size) args() []string {
	return []string{
		"--order-services", strconv.Itoa(s.orders), "--stock-services", strconv.Itoa(s.stocks),
		"--strategy", s.strategy, "--cluster=" + strconv.FormatBool(s.cluster),
	}
}

// check returns an error for an invalid size. It warns of an unsafe strategy.
func (s *size) check(say func(string)) error {
	if s.orders < 1 || s.stocks < 1 {
		return fmt.Errorf("at least one of each service is needed, not %d and %d", s.orders, s.stocks)
	}
	s.strategy = cmp.Or(s.strategy, strategy.Default)
	info, err := strategy.Find(s.strategy)
	if info.Unsafe() {
		say("WARNING: the strategy " + s.strategy + " " + info.Warning + "; the verdict says whether it did")
	}
	return err
}

func (s *size) config(root, dir string) stack.Config {
	return stack.Config{
		Dir:           dir,
		Bin:           binDir(root),
		OrderServices: s.orders,
		StockServices: s.stocks,
		Strategy:      s.strategy,
		Cluster:       s.cluster,
		Progress:      command.Progress(os.Stderr),
	}
}

// stopping returns a context for the clean-up after ctx has ended.
func stopping(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 40*time.Second)
}
