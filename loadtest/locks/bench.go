package locks

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"orderstock/loadtest/report"
	"orderstock/pkg/command"
	"orderstock/pkg/servers"
)

// Config configures Run. Every field but Servers is required.
type Config struct {
	Plan Plan
	// Servers are the addresses of a running ZooKeeper, separated by commas; empty: Run starts one.
	Servers string
	// Worker is the command line of a process that calls Work.
	Worker []string
	// Table gets the rows as they are measured.
	Table io.Writer
	// Progress gets a description of each step.
	Progress func(doing string)
}

const (
	// startGrace is the time for the start of a window to reach all workers.
	startGrace = 50 * time.Millisecond
	// drainLimit bounds the start of a worker, and the time of contenders still waiting at a window's end.
	drainLimit = 60 * time.Second
)

// bench measures all locks in all shapes.
type bench struct {
	Config
	dir   string // with the source of the Java worker
	root  string // of all paths, so that two runs on one server do not meet
	table *report.Table

	begun      time.Time
	todo, done time.Duration // of all windows, as planned
}

// Row is one lock in one shape: a line of the table and of the file. Latency is the time from the call to the grant;
// for "raw" it is the time of the pair. Hold is for how long a lone contender and the crowd beside it hold; without a
// lone contender it is 0. A wake-up is a watch event that made a waiter look again. Processor is the processor time of
// the contenders' processes for each acquisition, without the server's.
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
	Processor         float64 `json:"processor_us" col:"Processor µs" fmt:"%.0f"`
	// LeastShare is the least share of a process, in percent of an even one.
	LeastShare float64 `json:"least_share,omitempty" col:"Least share" fmt:"%.0f%%"`
}

// Result is a measurement of locks.
type Result struct {
	Rows []Row `json:"rows"`
}

// Run measures the plan's locks in each of its shapes, and returns a row for each. With an error, such as the end of
// ctx, it also returns the rows that are measured.
func Run(ctx context.Context, cfg Config) (_ *Result, err error) {
	shapes, err := parseShapes(cfg.Plan.Shapes)
	if err != nil {
		return nil, command.Misuse(err)
	}
	for _, name := range cfg.Plan.Locks {
		if !slices.Contains(Names, name) {
			return nil, command.Misuse(fmt.Errorf("no lock %q; there are %q", name, Names))
		}
	}
	dir, err := os.MkdirTemp("", "orderstock-locks-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.WriteFile(filepath.Join(dir, curatorFile), curatorSource, 0o644); err != nil {
		return nil, err
	}
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
	b := &bench{Config: cfg, dir: dir, root: "/locks-" + strings.ToLower(rand.Text()[:8]), begun: time.Now()}
	for _, s := range shapes {
		b.todo += b.length(s) * time.Duration(b.Plan.Rounds*len(b.locks(s)))
	}
	var result Result
	b.table = report.TableOf[Row](nil)
	b.table.Follow(cfg.Table, len(noHandoffLock))
	for _, s := range shapes {
		more, err := b.runShape(ctx, s)
		result.Rows = append(result.Rows, more...)
		if ctx.Err() != nil {
			return &result, context.Cause(ctx)
		}
		if err != nil {
			return &result, fmt.Errorf("shape %s: %w", s, err)
		}
	}
	return &result, nil
}

// turns returns the number of turns of a window. The speed of the disk and of the machine drifts within seconds, most
// of all for a lone contender, which waits only for the disk.
func (s shape) turns() int {
	if s.contenders == 1 {
		return 16
	}
	return 4
}

// length returns the time for a lock's window in the shape.
func (b *bench) length(s shape) time.Duration {
	return b.Plan.Warmup + b.Plan.Window + time.Duration(s.turns())*startGrace
}

// locks returns the locks to measure in the shape.
func (b *bench) locks(s shape) []string {
	if !s.lone() {
		return b.Plan.Locks
	}
	return slices.DeleteFunc(slices.Clone(b.Plan.Locks), func(lock string) bool {
		return lock != zklockLock && lock != noHandoffLock && lock != clientLock
	})
}

// progress says how much time is left, if the rest takes as long as what was done.
func (b *bench) progress(doing string) {
	left := b.todo - b.done
	if b.done > 0 {
		left = time.Duration(float64(left) * float64(time.Since(b.begun)) / float64(b.done))
	}
	b.Progress(fmt.Sprintf("%s (%s left)", doing, left.Round(time.Second)))
}

// runShape keeps the workers of all locks alive over the rounds, so that Java's code stays compiled and connections
// stay open. Only one lock's workers work at a time. It returns the measured rows, even with an error.
func (b *bench) runShape(ctx context.Context, s shape) (rows []Row, err error) {
	locks := b.locks(s)
	b.progress(fmt.Sprintf("%s: starting the processes of %d locks", s, len(locks)))
	cells := make([]*cell, len(locks))
	for i, lock := range locks {
		cells[i] = &cell{shape: s, lock: lock, waits: newHistogram(), ops: make([]int64, s.processes)}
		if err == nil {
			err = b.startFleet(ctx, cells[i])
		}
	}
	if err == nil {
		err = b.takeTurns(s, cells)
	}
	for _, c := range cells {
		for _, p := range c.fleet {
			err = errors.Join(err, p.Finish())
		}
		if c.measured > 0 {
			b.table.AddRow(c.row())
			rows = append(rows, c.row())
		}
	}
	return rows, err
}

func (b *bench) takeTurns(s shape, cells []*cell) error {
	turns := s.turns()
	for turn := range b.Plan.Rounds * turns {
		if turn%turns == 0 {
			b.progress(fmt.Sprintf("%s: round %d of %d", s, turn/turns+1, b.Plan.Rounds))
		}
		w := window{warmup: b.Plan.Warmup / time.Duration(turns), length: b.Plan.Window / time.Duration(turns)}
		if turn == 0 {
			w.warmup = 2 * b.Plan.Warmup
		}
		for i := range cells {
			if i = (i + turn/2) % len(cells); turn%2 == 1 { // so that no lock always comes after the same one
				i = len(cells) - 1 - i
			}
			if err := cells[i].measure(w); err != nil {
				return fmt.Errorf("measure %s: %w", cells[i].lock, err)
			}
			b.done += b.length(s) / time.Duration(turns)
		}
	}
	return nil
}
