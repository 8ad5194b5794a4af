package ladder

import (
	"context"
	"fmt"
	"io"
	"time"

	"orderstock/loadtest/system"
	"orderstock/pkg/servers"
)

// Config configures the measurements. Every field but Plan, Seed and Progress is required.
type Config struct {
	// Plan selects the rows of Run.
	Plan Plan
	// Servers serve every row.
	Servers *system.Servers
	// Bin is the folder of the services' binaries, and Dir the folder of the run's logs.
	Bin, Dir string
	// Warmup is sent and judged before each turn, but not measured. Measure is the measured time of each turn. Run
	// spreads it over the rounds of a point: there a quick row is measured for twice as long.
	Warmup, Measure time.Duration
	// Seed is the seed of every load; 0: each has a random one.
	Seed uint64
	// Table gets the rows of Run as they are measured. Progress, if not nil, gets a description of each step.
	Table    io.Writer
	Progress func(doing string)

	mysql servers.Options // of Servers.MySQL
}

func (cfg Config) say(format string, args ...any) {
	if cfg.Progress != nil {
		cfg.Progress(fmt.Sprintf(format, args...))
	}
}

// spread divides the measured time among the rounds of the point.
func (cfg Config) spread(p point) Config {
	cfg.Measure /= time.Duration(p.rounds())
	return cfg
}

// Run measures the plan's rows. Each row has separate databases, Redis keys and services, so that no row pays for the
// rows of another. The rows of one point take turns, so that a change in the speed of the disk or of the machine
// affects all of them. A row that could not be measured ends the run with an error; the points before it are in the
// result.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	var result Result
	var err error
	if result.Bench, err = cfg.bench(ctx); err != nil {
		return &result, err
	}
	fmt.Fprintln(cfg.Table, result.Server, "·", result.Machine)
	table := rowTable()
	table.Follow(cfg.Table, len("conditional-update"))
	for _, pass := range cfg.Plan.passes() {
		var variants []variant
		for _, s := range pass.shapes() {
			variants = append(variants, variant{shape: s})
		}
		for _, p := range pass.points() {
			cfg.say("%s: rows %d to %d of %d", p, len(result.Rows)+1, len(result.Rows)+len(variants), cfg.Plan.Size())
			all, err := measure(ctx, cfg.spread(p), p, variants, p.turns)
			if err != nil {
				return &result, fmt.Errorf("measure %s: %w", p, err)
			}
			for _, c := range all {
				result.Rows = append(result.Rows, c.row(p))
				c.row(p).addTo(table)
			}
		}
	}
	if cfg.Plan.Faults {
		return &result, measureSurvival(ctx, cfg, &result)
	}
	return &result, nil
}
