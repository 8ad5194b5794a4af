package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"orderstock/migrations"
	"orderstock/pkg/command"
	environment "orderstock/pkg/config"
)

// config is read from the environment. Its comments become the text of the documents.
type config struct {
	// AdminDSN is the database server, as a user who may create databases and users.
	AdminDSN string `env:"MYSQL_ADMIN_DSN,required,notEmpty"`
	// OrderPassword is the password of the user order_app.
	OrderPassword string `env:"ORDER_DB_PASSWORD,required,notEmpty"`
	// StockPassword is the password of the user stock_app.
	StockPassword string `env:"STOCK_DB_PASSWORD,required,notEmpty"`
	// MigratePassword is the password of the user migrator.
	MigratePassword string `env:"MIGRATE_DB_PASSWORD,required,notEmpty"`
	// VerifyPassword is the password of the user verifier, who may only read.
	VerifyPassword string `env:"VERIFY_DB_PASSWORD,required,notEmpty"`
	// Wait bounds the wait for the database server.
	Wait time.Duration `env:"MIGRATE_WAIT" envDefault:"60s"`
}

// Check finds nothing wrong: the tags mark the required fields.
func (config) Check() error { return nil }

func (c config) migrations() migrations.Config {
	accounts := migrations.DefaultAccounts()
	accounts.OrderApp.Password = c.OrderPassword
	accounts.StockApp.Password = c.StockPassword
	accounts.Migrator.Password = c.MigratePassword
	accounts.Verifier.Password = c.VerifyPassword
	return migrations.Config{AdminDSN: c.AdminDSN, Accounts: accounts, Wait: c.Wait}
}

func newCommand(out io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use: "migrate",
		Short: "Create the databases, users and tables of orderstock, prune old orders, " +
			"form a group of MySQL servers, and make secrets",
		Long: `Create the databases, users and tables of orderstock, prune old orders, form a
group of MySQL servers, and make secrets.

Exit code: 0 the work is done, 1 a group is not complete, 2 it failed, 64 wrong
usage: the command line or a setting.`,
	}
	root.SetOut(out)
	root.AddCommand(
		&cobra.Command{
			Use:   "up",
			Short: "Create databases and users, and bring both schemas to the newest version",
			Args:  cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				cfg, err := environment.Read[config]()
				if err != nil {
					return err
				}
				if err := migrations.Run(cmd.Context(), cfg.migrations()); err != nil {
					return err
				}
				return printStatus(cmd, cfg)
			},
		},
		&cobra.Command{
			Use:   "status",
			Short: "Print the version of both schemas; changes nothing",
			Args:  cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				cfg, err := environment.Read[config]()
				if err != nil {
					return err
				}
				return printStatus(cmd, cfg)
			},
		},
		newPrune(), newGroup(), newSecrets(),
	)
	return root
}

func newPrune() *cobra.Command {
	var days int
	cmd := &cobra.Command{
		Use:   "prune --days N",
		Short: "Delete orders that ended and did not change for N days, with their flow rows, whose sums stay",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := environment.Read[config]()
			if err != nil {
				return err
			}
			if days < 1 || days > 36500 {
				return command.Misuse(fmt.Errorf(
					"days %d: want 1 to 36500, and longer than clients repeat or cancel orders", days))
			}
			n, err := migrations.Prune(cmd.Context(), cfg.migrations(), time.Duration(days)*24*time.Hour)
			if _, printErr := fmt.Fprintf(cmd.OutOrStdout(), "%d orders pruned\n", n); err == nil {
				err = printErr
			}
			return err
		},
	}
	cmd.Flags().IntVar(&days, "days", 0, "how long an order is kept after its last change")
	if err := cmd.MarkFlagRequired("days"); err != nil {
		panic(err) // the flag is defined above
	}
	return cmd
}

func printStatus(cmd *cobra.Command, cfg config) error {
	all, err := migrations.ReadStatus(cmd.Context(), cfg.migrations())
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "SCHEMA\tDATABASE\tVERSION\tNEWEST")
	for _, s := range all {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%d\t%d\n", s.Schema, s.Database, s.Current, s.Newest)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print status: %w", err)
	}
	return nil
}
