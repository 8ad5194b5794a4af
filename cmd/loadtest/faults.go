package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/caarlos0/env/v11"
	"github.com/spf13/cobra"

	"orderstock/loadtest/faults"
	"orderstock/loadtest/verify"
	"orderstock/pkg/command"
)

// faultsConfig is read from the environment first, then from the flags.
type faultsConfig struct {
	// Seeds is the number of runs of each cell.
	Seeds int `env:"SEEDS" envDefault:"1"`
	// Cell is the one cell of the fault matrix to run.
	Cell string `env:"CELL"`
	// Lanes is the number of systems broken in parallel.
	Lanes int `env:"LANES" envDefault:"2"`
	// Out is the folder for the results of the fault matrix.
	Out string `env:"OUT" envDefault:"out"`
	// Reduced runs only a part of the fault matrix.
	Reduced bool `env:"REDUCED"`
	// Cluster runs the faults of a cluster: three servers of each kind, one of them dies.
	Cluster bool
	List    bool
	json    asJSON
}

func faultsCommand() *cobra.Command {
	cfg, envErr := env.ParseAs[faultsConfig]()
	cmd := &cobra.Command{
		Use:   "faults",
		Short: "Run the fault matrix on real servers",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if envErr != nil {
				return fmt.Errorf("read configuration: %w", envErr)
			}
			return runFaults(cmd, cfg)
		},
	}
	f := cmd.Flags()
	f.IntVar(&cfg.Seeds, "seeds", cfg.Seeds, "runs of each cell; the first three differ in their share of baskets (SEEDS)")
	f.StringVar(&cfg.Cell, "cell", cfg.Cell,
		`one cell, "step/when/fault"; with a first seed, "step/when/fault@seed"; or "@seed" for all cells (CELL)`)
	f.IntVar(&cfg.Lanes, "lanes", cfg.Lanes, "whole systems to break in parallel (LANES)")
	f.StringVar(&cfg.Out, "out", cfg.Out, "folder for faults.json, and for the evidence of failing runs (OUT)")
	f.BoolVar(&cfg.Reduced, "reduced", cfg.Reduced,
		"only a part of the matrix: each step and each fault at least once (REDUCED)")
	f.BoolVar(&cfg.Cluster, "cluster", false,
		"the faults of a cluster; needs root, and MySQL itself (MYSQLD, or Docker with mysql:9.7)")
	f.BoolVar(&cfg.List, "list", false, "print the names of the cells and end")
	cfg.json.flag(cmd)
	return cmd
}

// name returns the name of the results' files, without the extension. A part of the matrix has another name, so that
// it is not mistaken for the whole.
func (c faultsConfig) name() string {
	name := "faults"
	if c.Cluster {
		name += "-cluster"
	}
	if c.Reduced {
		name += "-reduced"
	}
	if c.Cell != "" && !strings.HasPrefix(c.Cell, "@") {
		name += "-cell"
	}
	return name
}

func runFaults(cmd *cobra.Command, cfg faultsConfig) error {
	suite := faults.Config{
		Cells: faults.Cells(), Seeds: cfg.Seeds, Lanes: cfg.Lanes, Out: cfg.Out,
		Print: cfg.json.text(cmd),
	}
	switch {
	case cfg.Cluster && cfg.Reduced:
		suite.Cells = faults.ClusterCells()[:1]
	case cfg.Cluster:
		suite.Cells = faults.ClusterCells()
	case cfg.Reduced:
		suite.Cells = faults.Reduced()
	}
	if cfg.Cell != "" {
		name, seed, seeded := strings.Cut(cfg.Cell, "@")
		if name != "" {
			cell, ok := faults.Find(name)
			if !ok {
				return fmt.Errorf("no cell %q; --list names them", name)
			}
			if cell.NA != "" {
				return fmt.Errorf("cell %s does not apply: %s", name, cell.NA)
			}
			suite.Cells, cfg.Cluster = []faults.Cell{cell}, cell.Cluster
		}
		if seeded {
			n, err := strconv.ParseUint(seed, 10, 64)
			if err != nil {
				return fmt.Errorf("seed %q: %w", seed, err)
			}
			suite.FirstSeed = n
		}
	}
	if cfg.List {
		for _, c := range suite.Cells {
			if _, err := fmt.Fprintln(cmd.OutOrStdout(), strings.TrimSpace(c.Name()+"  "+c.NA)); err != nil {
				return fmt.Errorf("list cells: %w", err)
			}
		}
		return nil
	}
	suite.Cluster, suite.Result = cfg.Cluster, cfg.name()+".json"
	report, err := faults.Execute(cmd.Context(), suite)
	if report != nil {
		err = errors.Join(err, intoFile(filepath.Join(cfg.Out, cfg.name()+".html"), report.Sheet().Write),
			cfg.json.print(cmd, report))
	}
	if err != nil {
		return err
	}
	if report.Verdict != verify.Pass {
		return &command.ExitError{Code: report.Verdict.ExitCode(), Err: fmt.Errorf("verdict: %s", report.Verdict)}
	}
	return nil
}
