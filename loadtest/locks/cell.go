package locks

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// cell sums one lock's windows in one shape.
type cell struct {
	shape
	lock     string
	fleet    []*Process
	measured time.Duration
	waits    *hdrhistogram.Histogram // of the first process alone, if it is the lone one
	ops      []int64                 // released within the windows, by process
	sum      count
}

// startFleet starts the processes of a cell, and waits until all are connected.
func (b *bench) startFleet(ctx context.Context, c *cell) error {
	root := path.Join(b.root, c.String(), strings.ReplaceAll(c.lock, ".", "-"))
	for p := range c.processes {
		first, goroutines := c.share(p)
		w := Worker{
			Lock: c.lock, Servers: strings.Split(b.Servers, ","), Path: path.Join(root, "path-"), Paths: c.paths,
			First: first, Goroutines: goroutines, Hold: c.hold,
		}
		start := func() (*Process, error) { return Start(ctx, b.Worker, w) }
		if c.lock == curatorLock {
			start = func() (*Process, error) { return startCurator(ctx, b.dir, w) }
		}
		process, err := start()
		if err != nil {
			return fmt.Errorf("start %s: %w", c.lock, err)
		}
		c.fleet = append(c.fleet, process)
	}
	for _, p := range c.fleet {
		if _, err := p.Await(0, Connected, drainLimit); err != nil {
			return fmt.Errorf("start %s: %w", c.lock, err)
		}
	}
	return nil
}

// measure runs one window on all processes of the cell together.
func (c *cell) measure(w window) error {
	order := fmt.Sprintln(time.Now().Add(startGrace).UnixMilli(), int64(w.warmup), int64(w.length))
	seen := make([]int, len(c.fleet))
	for i, p := range c.fleet {
		var err error
		if seen[i], err = p.Order(order); err != nil {
			return err
		}
	}
	answers := make([]Record, len(c.fleet))
	for i, p := range c.fleet {
		var err error
		if answers[i], err = p.Await(seen[i], Measured, startGrace+w.warmup+w.length+drainLimit); err != nil {
			return err
		}
	}
	c.measured += w.length
	for i, a := range answers {
		waits, err := a.Window.histogram()
		if err != nil {
			return fmt.Errorf("read a worker's histogram: %w", err)
		}
		c.sum.Acquired += a.Window.Acquired
		c.sum.Wakeups += a.Window.Wakeups
		c.sum.ProcessorNS += a.Window.ProcessorNS
		c.ops[i] += waits.TotalCount()
		if i == 0 || !c.lone() {
			c.waits.Merge(waits)
		}
	}
	return nil
}

func (c *cell) row() Row {
	var total int64
	least := c.ops[0]
	for _, n := range c.ops {
		total += n
		least = min(least, n)
	}
	r := Row{
		Lock: c.lock, Processes: c.processes, Contenders: c.contenders, Paths: c.paths,
		PerSecond: float64(total) / c.measured.Seconds(),
		P50:       float64(c.waits.ValueAtQuantile(50)) / 1e6,
		P99:       float64(c.waits.ValueAtQuantile(99)) / 1e6,
		Longest:   float64(c.waits.Max()) / 1e6,
		Hold:      float64(c.hold) / 1e6,
	}
	if c.sum.Acquired > 0 {
		r.WakeupsPerRelease = float64(c.sum.Wakeups) / float64(c.sum.Acquired)
		r.Processor = float64(c.sum.ProcessorNS) / 1e3 / float64(c.sum.Acquired)
	}
	if total > 0 {
		r.LeastShare = 100 * float64(least) * float64(c.processes) / float64(total)
	}
	return r
}
