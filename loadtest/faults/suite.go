package faults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"orderstock/loadtest/system"
	"orderstock/loadtest/verify"
	"orderstock/pkg/mysqlgroup"
)

// Config configures Execute. The zero value of a field means its default.
type Config struct {
	// Cells to run. Default: the whole matrix.
	Cells []Cell
	// Seeds is the number of runs of each cell, with the seeds FirstSeed and up. Default 1.
	Seeds int
	// FirstSeed defaults to 1.
	FirstSeed uint64
	// Cluster runs the cells of a cluster, in one lane with one group of servers.
	Cluster bool
	// Lanes is the number of labs that run in parallel. Default 1.
	Lanes int
	// Out is the folder for faults/, with what failing runs leave behind. Default "out".
	Out string
	// Print gets a line for each run as it ends, and the result. Default: discarded.
	Print io.Writer
}

// freshAfter is the number of runs after which the services start again with empty databases.
const freshAfter = 30

// Execute runs the cells and returns the report. An error means that not all runs could be made, or that ctx ended; the
// report, if not nil, then covers the completed runs.
func Execute(ctx context.Context, cfg Config) (*Report, error) {
	if cfg.Cluster {
		cfg.Lanes = 1
	}
	if cfg.Cells == nil {
		cfg.Cells = Cells()
	}
	cfg.Seeds, cfg.FirstSeed, cfg.Lanes = max(cfg.Seeds, 1), max(cfg.FirstSeed, 1), max(cfg.Lanes, 1)
	cfg.Out, cfg.Print = cmp.Or(cfg.Out, "out"), cmp.Or(cfg.Print, io.Discard)
	dir, err := os.MkdirTemp("", "orderstock-faults-")
	if err != nil {
		return nil, fmt.Errorf("execute faults: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // scratch: the evidence was copied to Out
	o := system.Options{Bin: filepath.Join(dir, "bin"), Breakable: true, Cluster: cfg.Cluster}
	if err := o.Build(ctx); err != nil {
		return nil, err
	}

	type job struct {
		cell Cell
		seed uint64
	}
	todo := make(chan job, cfg.Seeds*len(cfg.Cells))
	for seed := range uint64(cfg.Seeds) {
		for _, c := range cfg.Cells {
			if c.NA == "" {
				todo <- job{c, cfg.FirstSeed + seed}
			}
		}
	}
	close(todo)
	var (
		table   = newTable(cfg.Print, len(todo))
		errs    = make([]error, cfg.Lanes)
		working sync.WaitGroup
	)
	for i := range cfg.Lanes {
		working.Go(func() {
			lane := &lane{open: o, out: filepath.Join(cfg.Out, "faults")}
			lane.open.Dir = filepath.Join(dir, fmt.Sprint("lane-", i))
			defer func() { errs[i] = errors.Join(errs[i], lane.close()) }()
			for j := range todo {
				if ctx.Err() != nil {
					return
				}
				run, err := lane.run(ctx, j.cell, j.seed)
				if err != nil {
					errs[i] = err
					return
				}
				table.add(run)
			}
		})
	}
	working.Wait()
	report := newReport(cfg.Seeds, cfg.Cells, table.runs)
	report.Total.Seconds = time.Since(table.began).Seconds()
	errs = append(errs, ctx.Err(), report.Write(cfg.Print))
	return report, errors.Join(errs...)
}

// lane runs cells one after the other in its own lab.
type lane struct {
	open  system.Options
	out   string
	lab   *system.System
	since int               // runs since the services started
	env   map[string]string // of the services
}

// envOf returns the environment of the services for a cell. In cells around the system and cells of a cluster, the
// deductions of a partition go to its preferred replica, as is the services' default. A step is struck in one replica,
// which must have work, so there the replicas take turns.
func envOf(c Cell) map[string]string {
	env := maps.Clone(Env)
	if c.Step == Around {
		env["STOCK_SPREAD"] = "false"
	}
	if c.Cluster {
		maps.Copy(env, clusterEnv)
	}
	maps.Copy(env, longEnv[c.Fault])
	return env
}

func (w *lane) run(ctx context.Context, c Cell, seed uint64) (*Run, error) {
	if w.lab == nil {
		l, err := system.Open(ctx, w.open)
		if err != nil {
			return nil, err
		}
		w.lab = l
		w.since = freshAfter
	}
	env := envOf(c)
	_, long := longEnv[c.Fault]
	if w.since >= freshAfter || long || !maps.Equal(env, w.env) {
		if err := w.lab.StartServices(ctx, "", maps.Clone(env)); err != nil {
			return nil, err
		}
		w.since, w.env = 0, env
	}
	w.since++
	if long {
		w.since = freshAfter
	}
	load := usualLoad
	load.Mix.Several = severalOf(c, seed)
	r := Once(ctx, w.lab, c, load, seed)
	if r.Outcome == verify.Pass {
		return r, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// The traces of a broken run must not be found again by the next.
	err := keepEvidence(ctx, w.lab, r, w.out)
	w.since = freshAfter
	if serverErr := w.repair(ctx); serverErr != nil {
		return nil, errors.Join(err, serverErr)
	}
	return r, err
}

// severalOf returns the share of orders of several products, mostly over several partitions, in a run of the cell. The
// seeds take turns: as fire.Mix draws it, which is two thirds, then 0.3, then all.
func severalOf(c Cell, seed uint64) float64 {
	if c.Baskets {
		return 1
	}
	return []float64{0, 0.3, 1}[(seed-1)%3]
}

// repair starts the servers again that a run left dead.
func (w *lane) repair(ctx context.Context) error {
	if w.lab.Cluster != nil {
		return w.repairCluster(ctx)
	}
	return w.lab.RepairServers(ctx)
}

func (w *lane) repairCluster(ctx context.Context) error {
	c := w.lab.Cluster
	for _, s := range c.All() {
		if s.Running() {
			if err := s.Resume(); err != nil {
				return err
			}
		} else if err := s.Launch(); err != nil {
			return err
		}
	}
	if err := mysqlgroup.Up(ctx, c.Group); err == nil {
		return nil
	}
	_, err := mysqlgroup.Reboot(ctx, c.Group, false)
	return err
}

func (w *lane) close() error {
	if w.lab == nil {
		return nil
	}
	return w.lab.Close()
}
