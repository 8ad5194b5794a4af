package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"orderstock/loadtest/tables"
	"orderstock/loadtest/trial"
	"orderstock/pkg/command"
)

// faultsConfig has the flags of faults.
type faultsConfig struct {
	trial.Suite
	Cell    string `flag:"cell" env:"CELL" help:"one cell, step/when/fault; with a first seed, step/when/fault@seed; or @seed for all cells"`
	Reduced bool   `flag:"reduced" env:"REDUCED" help:"only a part of the matrix: each step and each fault at least once"`
	Cluster bool   `flag:"cluster" help:"the faults of a cluster; needs root, and MySQL itself (MYSQLD, or Docker with mysql:9.7)"`
	List    bool   `flag:"list" help:"print the names of the cells and end"`
	resultFlags
}

func faultsCommand() *cobra.Command {
	var cfg faultsConfig
	cmd := &cobra.Command{
		Use:   "faults",
		Short: "Run the fault matrix on real servers",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cfg.choose(); err != nil {
				return command.Misuse(err)
			}
			if cfg.List {
				return listNames(cmd, cfg.Experiments)
			}
			return runSuite(cmd, cfg.Suite, cfg.resultFlags)
		},
	}
	cfg.Lanes = 2
	addFlags(cmd.Flags(), &cfg)
	return cmd
}

// choose sets the cells, the first seed and the name of the table. A part of the matrix has another name, so that it is
// not mistaken for the whole.
func (c *faultsConfig) choose() error {
	switch c.Table = "faults"; {
	case c.Cluster && c.Reduced:
		c.Table, c.Experiments = "faults-cluster-reduced", tables.OfCluster()[:1]
	case c.Cluster:
		c.Table, c.Experiments = "faults-cluster", tables.OfCluster()
	case c.Reduced:
		c.Table, c.Experiments = "faults-reduced", tables.Reduced()
	default:
		c.Experiments = tables.Cells()
	}
	name, seed, seeded := strings.Cut(c.Cell, "@")
	if name != "" {
		cell, ok := tables.FindCell(name)
		if !ok {
			return fmt.Errorf("no cell %q; --list names them", name)
		}
		if cell.NA != "" {
			return fmt.Errorf("cell %s does not apply: %s", name, cell.NA)
		}
		c.Experiments = []trial.Experiment{cell}
		c.Table += "-cell"
	}
	if seeded {
		n, err := strconv.ParseUint(seed, 10, 64)
		if err != nil {
			return fmt.Errorf("seed %q: want a whole number, 0 or more", seed)
		}
		c.FirstSeed = n
	}
	return nil
}

// listNames prints the names of experiments, and why they are not run.
func listNames(cmd *cobra.Command, all []trial.Experiment) error {
	for _, e := range all {
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), strings.TrimSpace(e.Name+"  "+e.NA)); err != nil {
			return fmt.Errorf("list experiments: %w", err)
		}
	}
	return nil
}

// runSuite runs experiments, and writes and prints their report. Its error has the verdict's exit code.
func runSuite(cmd *cobra.Command, s trial.Suite, to resultFlags) error {
	s.Print = to.text(cmd)
	report, err := s.Run(cmd.Context())
	if report == nil {
		return err
	}
	return to.give(cmd, filepath.Join(s.Out, s.Table+".json"), report, err)
}
