package locks

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"orderstock/loadtest/report"
	"orderstock/pkg/servers"
)

// Config configures Run. Every field but Servers is required.
type Config struct {
	Plan Plan
	// Servers are the addresses of a running ZooKeeper, separated by commas; empty: Run starts one.
	Servers string
	// Worker is the command line of a process that passes its further arguments to Work.
	Worker []string
	// Table gets the rows as they are measured.
	Table io.Writer
}

// bench measures all locks in all shapes.
type bench struct {
	Config
	dir     string
	root    string // of all paths, so that two runs on one server do not meet
	classes string // compiled Java, once it was needed
	table   *report.Table
}

// Row is one lock in one shape: a line of the table and of the file. Latency is the time from the call to the grant;
// for "raw" it is the time of the pair. Hold is for how long a lone contender and the crowd beside it hold; without a
// lone contender it is 0. A wake-up is a watch event that made a waiter look again.
type Row struct {
	Lock              string  `json:"lock" col:"Lock"`
	Processes         int     `json:"processes" col:"Processes"`
	Contenders        int     `json:"contenders" col:"Contenders"`
	Paths             int     `json:"paths" col:"Paths"`
	PerSecond         float64 `json:"per_s" col:"A second" fmt:"%.0f"`
	P50               float64 `json:"p50_ms" col:"p50 ms" fmt:"%.4g"`
	P99               float64 `json:"p99_ms" col:"p99 ms" fmt:"%.3f"`
	Longest           float64 `json:"max_ms" col:"Longest ms" fmt:"%.1f"`
	Hold              float64 `json:"hold_ms,omitempty"`
	WakeupsPerRelease float64 `json:"wakeups_per_release" col:"Wake-ups for each release" fmt:"%.2f"`
	// LeastShare is the least share of a process, in percent of an even one.
	LeastShare float64 `json:"least_share,omitempty" col:"Least share" fmt:"%.0f%%"`
}

// rowTable has every figure of the rows.
func rowTable(rows ...Row) *report.Table {
	return report.TableOf(rows, "Lock", "Processes", "Contenders", "Paths", "A second", "p50 ms", "p99 ms", "Longest ms",
		"Wake-ups for each release", "Least share")
}

// Result is a measurement of locks.
type Result struct {
	Rows []Row `json:"rows"`
}

// cell sums one lock's windows in one shape.
type cell struct {
	fleet    *fleet
	lone     bool // the waits are the first process's
	waits    *hdrhistogram.Histogram
	ops      []int64 // by process
	acquired int64
	wakeups  int64
}

// Run measures the plan's locks in each of its shapes, and returns a row for each.
func Run(ctx context.Context, cfg Config) (_ *Result, err error) {
	shapes, err := parseShapes(cfg.Plan.Shapes)
	if err != nil {
		return nil, err
	}
	for _, name := range cfg.Plan.Locks {
		if !slices.Contains(Names, name) {
			return nil, fmt.Errorf("no lock %q; there are %q", name, Names)
		}
	}
	dir, err := os.MkdirTemp("", "orderstock-locks-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if cfg.Servers == "" {
		o := servers.Options{Dir: filepath.Join(dir, "zookeeper"), Args: []string{"-Xmx1024m"}}
		zk, err := servers.StartZooKeeper(ctx, o)
		if err != nil {
			return nil, err
		}
		defer func() { _ = zk.Kill() }() // its data goes with the folder
		cfg.Servers = zk.Addr()
	}
	fmt.Fprintf(cfg.Table, "ZooKeeper at %s; %d rounds of %s after %s\n\n", cfg.Servers, cfg.Plan.Rounds,
		cfg.Plan.Window, cfg.Plan.Warmup)
	b := &bench{Config: cfg, dir: dir, root: "/locks-" + strings.ToLower(rand.Text()[:8])}
	var result Result
	b.table = rowTable()
	b.table.Follow(cfg.Table, len(noHandoffLock))
	for _, s := range shapes {
		more, err := b.runShape(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("shape %s: %w", s, err)
		}
		result.Rows = append(result.Rows, more...)
	}
	return &result, nil
}

// turns returns the number of turns of a window. The speed of the disk and of the machine drifts within seconds, most
// of all for a lone contender, which waits only for the disk.
func (s shape) turns() int {
	if s.contenders == 1 {
		return 32
	}
	return 4
}

// runShape keeps the workers of all locks alive over the rounds, so that Java's code stays compiled and connections
// stay open. Only one lock's workers work at a time.
func (b *bench) runShape(ctx context.Context, s shape) (rows []Row, err error) {
	locks := b.Plan.Locks
	if s.lone() {
		locks = slices.DeleteFunc(slices.Clone(locks), func(lock string) bool {
			return lock != zklockLock && lock != noHandoffLock && lock != clientLock
		})
	}
	cells := make([]*cell, len(locks))
	defer func() {
		for _, c := range cells {
			if c != nil {
				err = errors.Join(err, c.fleet.close())
			}
		}
	}()
	for i, lock := range locks {
		fleet, err := b.startFleet(ctx, lock, s, path.Join(b.root, s.String(), strings.ReplaceAll(lock, ".", "-")))
		if err != nil {
			return nil, fmt.Errorf("start workers of %s: %w", lock, err)
		}
		cells[i] = &cell{fleet: fleet, lone: s.lone(), waits: newHistogram(), ops: make([]int64, s.processes)}
	}
	for turn := range b.Plan.Rounds * s.turns() {
		w := window{warmup: b.Plan.Warmup / time.Duration(s.turns()), length: b.Plan.Window / time.Duration(s.turns())}
		if turn == 0 {
			w.warmup = 2 * b.Plan.Warmup
		}
		for i := range cells {
			i = (i + turn) % len(cells) // so that no lock always comes after the same one
			if err := cells[i].measure(ctx, w); err != nil {
				return nil, fmt.Errorf("measure %s: %w", locks[i], err)
			}
		}
	}
	for i, c := range cells {
		r := c.row(locks[i], s, time.Duration(b.Plan.Rounds)*b.Plan.Window)
		b.table.AddRow(r)
		rows = append(rows, r)
	}
	return rows, nil
}

func (c *cell) measure(ctx context.Context, w window) error {
	results, err := c.fleet.run(ctx, w)
	if err != nil {
		return err
	}
	for i, r := range results {
		c.ops[i] += r.Ops
		c.acquired += r.Acquired
		c.wakeups += r.Wakeups
		if i > 0 && c.lone {
			continue
		}
		waits, err := r.histogram()
		if err != nil {
			return fmt.Errorf("read a worker's histogram: %w", err)
		}
		c.waits.Merge(waits)
	}
	return nil
}

func (c *cell) row(lock string, s shape, measured time.Duration) Row {
	var total int64
	least := c.ops[0]
	for _, n := range c.ops {
		total += n
		least = min(least, n)
	}
	r := Row{
		Lock: lock, Processes: s.processes, Contenders: s.contenders, Paths: s.paths,
		PerSecond: float64(total) / measured.Seconds(),
		P50:       float64(c.waits.ValueAtQuantile(50)) / 1e6,
		P99:       float64(c.waits.ValueAtQuantile(99)) / 1e6,
		Longest:   float64(c.waits.Max()) / 1e6,
		Hold:      float64(s.hold) / 1e6,
	}
	if c.acquired > 0 {
		r.WakeupsPerRelease = float64(c.wakeups) / float64(c.acquired)
	}
	if total > 0 {
		r.LeastShare = 100 * float64(least) * float64(s.processes) / float64(total)
	}
	return r
}
