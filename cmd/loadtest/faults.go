package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"orderstock/loadtest/faults"
)

// faultsConfig has the flags of faults.
type faultsConfig struct {
	faults.Config
	// cell is the one cell of the fault matrix to run, with its first seed, or the first seed of all.
	cell    string
	reduced bool
	resultFlags
}

func faultsCommand() *cobra.Command {
	var cfg faultsConfig
	var list bool
	cmd := &cobra.Command{
		Use:   "faults",
		Short: "Run the fault matrix on real servers",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fromEnvironment(cmd.Flags(), "seeds", "cell", "lanes", "out", "reduced"); err != nil {
				return err
			}
			if err := cfg.choose(); err != nil {
				return err
			}
			if list {
				return listCells(cmd, cfg.Cells)
			}
			return runFaults(cmd, cfg)
		},
	}
	f := cmd.Flags()
	f.IntVar(&cfg.Seeds, "seeds", 1, "runs of each cell; the first three differ in their share of baskets (SEEDS)")
	f.StringVar(&cfg.cell, "cell", "",
		`one cell, "step/when/fault"; with a first seed, "step/when/fault@seed"; or "@seed" for all cells (CELL)`)
	f.IntVar(&cfg.Lanes, "lanes", 2, "whole systems to break in parallel (LANES)")
	f.StringVar(&cfg.Out, "out", "out", "folder for faults.json, and for the evidence of failing runs (OUT)")
	f.BoolVar(&cfg.reduced, "reduced", false,
		"only a part of the matrix: each step and each fault at least once (REDUCED)")
	f.BoolVar(&cfg.Cluster, "cluster", false,
		"the faults of a cluster; needs root, and MySQL itself (MYSQLD, or Docker with mysql:9.7)")
	f.BoolVar(&list, "list", false, "print the names of the cells and end")
	cfg.flags(f)
	return cmd
}

// name returns the name of the results' files, without the extension. A part of the matrix has another name, so that
// it is not mistaken for the whole.
func (c faultsConfig) name() string {
	name := "faults"
	if c.Cluster {
		name += "-cluster"
	}
	if c.reduced {
		name += "-reduced"
	}
	if c.cell != "" && !strings.HasPrefix(c.cell, "@") {
		name += "-cell"
	}
	return name
}

// choose sets the cells and the first seed.
func (c *faultsConfig) choose() error {
	switch {
	case c.Cluster && c.reduced:
		c.Cells = faults.ClusterCells()[:1]
	case c.Cluster:
		c.Cells = faults.ClusterCells()
	case c.reduced:
		c.Cells = faults.Reduced()
	default:
		c.Cells = faults.Cells()
	}
	name, seed, seeded := strings.Cut(c.cell, "@")
	if name != "" {
		cell, ok := faults.Find(name)
		if !ok {
			return fmt.Errorf("no cell %q; --list names them", name)
		}
		if cell.NA != "" {
			return fmt.Errorf("cell %s does not apply: %s", name, cell.NA)
		}
		c.Cells, c.Cluster = []faults.Cell{cell}, cell.Cluster
	}
	if seeded {
		n, err := strconv.ParseUint(seed, 10, 64)
		if err != nil {
			return fmt.Errorf("seed %q: %w", seed, err)
		}
		c.FirstSeed = n
	}
	return nil
}

func listCells(cmd *cobra.Command, cells []faults.Cell) error {
	for _, c := range cells {
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), strings.TrimSpace(c.Name()+"  "+c.NA)); err != nil {
			return fmt.Errorf("list cells: %w", err)
		}
	}
	return nil
}

// runFaults runs the chosen cells.
func runFaults(cmd *cobra.Command, cfg faultsConfig) error {
	cfg.Print = cfg.text(cmd)
	report, err := faults.Execute(cmd.Context(), cfg.Config)
	if report != nil {
		err = errors.Join(err, cfg.save(cmd, filepath.Join(cfg.Out, cfg.name()+".json"), report))
	}
	if err != nil {
		return err
	}
	return exit(report.Verdict, fmt.Errorf("verdict: %s", report.Verdict))
}
