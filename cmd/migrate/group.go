package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"orderstock/pkg/command"
	environment "orderstock/pkg/config"
	"orderstock/pkg/mysqlgroup"
)

// groupConfig is read from the environment.
type groupConfig struct {
	AdminDSN string `env:"MYSQL_ADMIN_DSN,required,notEmpty"`
	// GroupPassword is the password of the replication account of a group's members.
	GroupPassword string `env:"GROUP_DB_PASSWORD"`
	// GroupWait bounds the wait for members to answer and to join.
	GroupWait time.Duration `env:"GROUP_WAIT" envDefault:"2m"`
}

// Check finds nothing wrong: only some commands need the password.
func (groupConfig) Check() error { return nil }

func readGroup(needsPassword bool) (mysqlgroup.Config, error) {
	cfg, err := environment.Read[groupConfig]()
	if err == nil && needsPassword && cfg.GroupPassword == "" {
		err = command.Misuse(errors.New("GROUP_DB_PASSWORD is not set: " +
			"the password of the account that the members use to read from each other"))
	}
	if err != nil {
		return mysqlgroup.Config{}, fmt.Errorf("read configuration: %w", err)
	}
	return mysqlgroup.Config{
		AdminDSN: cfg.AdminDSN, Password: cfg.GroupPassword, Wait: cfg.GroupWait, Say: command.Progress(os.Stderr),
	}, nil
}

func newGroup() *cobra.Command {
	group := &cobra.Command{
		Use: "group",
		Short: "Form a group of MySQL servers, so that one may die; " +
			"MYSQL_ADMIN_DSN names all: root:…@group(a:3306,b:3306,c:3306)/",
	}
	var force bool
	reboot := &cobra.Command{
		Use:   "reboot",
		Short: "Form the group again after a majority was lost, from the member that has all transactions of the others",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := readGroup(true)
			if err != nil {
				return err
			}
			chosen, err := mysqlgroup.Reboot(cmd.Context(), cfg, force)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "begun again with %s\n", chosen)
			return printGroup(cmd, cfg, true)
		},
	}
	reboot.Flags().BoolVar(&force, "force", false, "do without members that do not answer; what only they have is lost")
	group.AddCommand(
		&cobra.Command{
			Use:   "up",
			Short: "Form the group if there was none before, and let members that are out join; may be run again",
			Args:  cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				cfg, err := readGroup(true)
				if err != nil {
					return err
				}
				if err := mysqlgroup.Up(cmd.Context(), cfg); err != nil {
					return err
				}
				return printGroup(cmd, cfg, true)
			},
		},
		&cobra.Command{
			Use:   "status",
			Short: "Print how each member sees the group; exit 0 if all are in it, 1 if not; changes nothing",
			Args:  cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				cfg, err := readGroup(false)
				if err != nil {
					return err
				}
				return printGroup(cmd, cfg, false)
			},
		},
		reboot,
	)
	return group
}

// printGroup prints the members. Unless quiet, an incomplete group is an error.
func printGroup(cmd *cobra.Command, cfg mysqlgroup.Config, quiet bool) error {
	members, err := mysqlgroup.Read(cmd.Context(), cfg)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MEMBER\tSTATE\tROLE\tREACHES\tWRITABLE\tTRANSACTIONS")
	for _, m := range members {
		if m.Err != nil {
			fmt.Fprintf(w, "%s\tno answer\t-\t-\t-\t-\n", m.Addr)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d of %d\t%t\t%s\n", m.Addr, m.State, cmp.Or(m.Role, "-"), m.Reached, m.Members,
			!m.ReadOnly && !m.Offline, cmp.Or(m.Transactions, "-"))
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print group: %w", err)
	}
	if err := mysqlgroup.Whole(members); err != nil && !quiet {
		return command.Fail(err)
	}
	return nil
}
