package ladder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"orderstock/loadtest/verify"
	"orderstock/pkg/servers"
)

// Scale measures the gain of more lock holders and replicas, the cost of the compose file's containers, and the failure
// of a holder.
type Scale struct {
	Bench
	// Rows are the deductions of many products, by the number of partitions. Each partition has its own lock.
	Rows []ScaleRow `json:"rows"`
	// OtherGroups are the same with other bounds of a transaction.
	OtherGroups []ScaleRow `json:"other_groups,omitempty"`
	// Failing are the runs during which the holder of a lock fails.
	Failing []FailingRow `json:"failing,omitempty"`
	// Compose is the compose file's stack.
	Compose *ComposeScale `json:"compose,omitempty"`
}

// ScaleRow is the measurement with one number of holders. Its ratio is to the first number of them.
type ScaleRow struct {
	// DelayMS is the delay of each commit in the database, like a replicated primary's.
	DelayMS float64 `json:"delay_ms"`
	// Group is the maximum number of operations in one transaction.
	Group       int     `json:"group"`
	Holders     int     `json:"holders"`
	Products    int     `json:"products"`
	DeductsPerS float64 `json:"deducts_per_s"`
	Ratio
	// Handovers is how often a second a lock went from one stock service to another.
	Handovers float64        `json:"handovers_per_s"`
	Verdict   verify.Outcome `json:"verdict"`
}

// ScalePlan configures MeasureScale.
type ScalePlan struct {
	Delays  []time.Duration
	Groups  []int
	Holders []int
	// Products, Clients and Replicas of the stock service, for the rows.
	Products, Clients, Replicas int
	// Legs is the number of turns.
	Legs int
}

// usualClients is the number of clients of the compose file's stack.
const usualClients = 256

// MeasureScale measures the rows of the plan.
func MeasureScale(ctx context.Context, cfg Config, plan ScalePlan) (s Scale, err error) {
	if s.Bench, err = cfg.bench(ctx); err != nil {
		return s, err
	}
	for i, group := range plan.Groups {
		for _, delay := range plan.Delays {
			rows, err := measureHolders(ctx, cfg, plan, group, delay)
			if err != nil {
				return s, fmt.Errorf("groups of %d, commits of %s: %w", group, delay, err)
			}
			if i == 0 {
				s.Rows = append(s.Rows, rows...)
			} else {
				s.OtherGroups = append(s.OtherGroups, rows...)
			}
		}
	}
	return s, nil
}

func measureHolders(
	ctx context.Context, cfg Config, plan ScalePlan, group int, delay time.Duration,
) (rows []ScaleRow, err error) {
	undo, err := delayCommits(ctx, cfg.Servers.MySQL, delay)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, undo()) }()
	var variants []variant
	for _, n := range plan.Holders {
		variants = append(variants, variant{
			shape: shape{Default, plan.Replicas},
			env:   map[string]string{"STOCK_PARTITIONS": strconv.Itoa(n), "STOCK_GROUP": strconv.Itoa(group)},
		})
	}
	cfg.say("groups of %d, commits of %s: %d legs of %v holders", group, delay, plan.Legs, plan.Holders)
	p := point{path: PathDeduct, goods: plan.Products, clients: plan.Clients, uniform: true}
	all, err := measure(ctx, cfg, p, variants, legs(plan.Legs, cfg.say))
	if err != nil {
		return nil, err
	}
	for i, n := range plan.Holders {
		row := ScaleRow{
			DelayMS: ms(delay), Group: group, Holders: n, Products: plan.Products, DeductsPerS: mean(all[i].perS()),
			Ratio: overLegs(all[0].perS(), all[i].perS()), Verdict: all[i].verdict,
			Handovers: all[i].locks.handovers / all[i].fired.Seconds(),
		}
		cfg.say("%d holders: %s of the first", n, row.Ratio)
		rows = append(rows, row)
	}
	return rows, nil
}

// delayCommits makes each commit of the server wait for d, like on a replicated primary. Commits that arrive during the
// wait join it. The returned function ends the delay.
func delayCommits(ctx context.Context, m *servers.MySQL, d time.Duration) (undo func() error, err error) {
	version, err := m.Version(ctx)
	if err != nil {
		return nil, err
	}
	set := func(ctx context.Context, d time.Duration) error {
		if !strings.Contains(version, "MariaDB") {
			return m.Exec(ctx, fmt.Sprintf("SET GLOBAL binlog_group_commit_sync_delay = %d", d.Microseconds()))
		}
		// It waits only for a number of commits, here more than ever come.
		return m.Exec(ctx, fmt.Sprintf("SET GLOBAL binlog_commit_wait_count = %d", min(d.Microseconds(), 1)*10000),
			fmt.Sprintf("SET GLOBAL binlog_commit_wait_usec = %d", d.Microseconds()))
	}
	return func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		return set(ctx, 0)
	}, set(ctx, d)
}

// AllRows returns the rows, then the rows of the other groups.
func (s Scale) AllRows() []ScaleRow { return slices.Concat(s.Rows, s.OtherGroups) }
