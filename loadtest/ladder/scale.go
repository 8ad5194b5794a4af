package ladder

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"orderstock/loadtest/report"
	"orderstock/loadtest/verify"
	"orderstock/pkg/command"
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
	// Hot compares deductions of one hot product under all partitions with the same under one, or with an earlier build.
	Hot *HotRow `json:"hot,omitempty"`
	// HotOrders compares whole orders of one hot product with an earlier build's.
	HotOrders *HotRow `json:"hot_orders,omitempty"`
	// Others compares whole orders under further loads with an earlier build's.
	Others []*HotRow `json:"besides,omitempty"`
	// Failing are the runs during which the holder of a lock fails.
	Failing []FailingRow `json:"failing,omitempty"`
	// Compose is the compose file's stack.
	Compose *ComposeScale `json:"compose,omitempty"`
}

// Gain is the sales of a variant relative to another one's.
type Gain struct {
	// Ratio is over all legs, and Error its standard error, by the legs.
	Ratio float64 `json:"ratio"`
	Error float64 `json:"error"`
	// Want is the least that Ratio should be, within its error; 0 if no more is asked for than the verdict.
	Want float64 `json:"want,omitempty"`
	// Handovers is how often a second a lock went from one stock service to another.
	Handovers float64        `json:"handovers_per_s"`
	Verdict   verify.Outcome `json:"verdict"`
}

// gain compares two contestants that took turns.
func gain(than, of *contestant, want float64) Gain {
	g := Gain{Want: want, Verdict: of.verdict, Handovers: of.locks.handovers / of.fired.Seconds()}
	g.Ratio, g.Error = overLegs(than.perS(), of.perS())
	return g
}

func (g Gain) missed() bool { return g.Verdict != verify.Pass || g.Ratio+g.Error < g.Want }

// ScaleRow is the measurement with one number of holders. Its gain is over one holder.
type ScaleRow struct {
	// DelayMS is the delay of each commit in the database, like a replicated primary's.
	DelayMS float64 `json:"delay_ms"`
	// Group is the maximum number of operations in one transaction.
	Group       int     `json:"group"`
	Holders     int     `json:"holders"`
	Products    int     `json:"products"`
	DeductsPerS float64 `json:"deducts_per_s"`
	Gain
}

// HotRow compares two builds or two settings under one load.
type HotRow struct {
	Path string `json:"path"`
	// Goods is the number of products, Items the most of one order, and Replicas the number of stock services.
	Goods    int    `json:"goods"`
	Items    int    `json:"items"`
	Replicas int    `json:"replicas"`
	Than     string `json:"than"`
	// P99 is the ratio of the 99th percentiles, and MostP99 the most that it should be; 0 if none is asked for.
	P99     float64 `json:"p99"`
	MostP99 float64 `json:"most_p99,omitempty"`
	Gain
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
	// Before is a folder with the binaries of an earlier build to compare the hot product with, also by
	// whole orders; empty: with one partition.
	Before string
}

// usualClients is the number of clients of one hot product, and of the compose file's stack.
const usualClients = 256

// wanted is the ratio that the holders should reach, by delay and number of holders.
var wanted = map[time.Duration]map[int]float64{
	0:                     {2: 1.4},
	5 * time.Millisecond:  {2: 1.6, 4: 2.7, 8: 3.7},
	20 * time.Millisecond: {2: 1.7, 4: 3.0, 8: 5.0},
}

// MeasureScale measures the rows of the plan, and the hot product.
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
	loads := hotLoads
	if plan.Before == "" {
		loads = hotLoads[:1]
	}
	for i, row := range loads {
		done, err := measureHot(ctx, cfg, plan, row)
		if err != nil {
			return s, err
		}
		switch i {
		case 0:
			s.Hot = done
		case 1:
			s.HotOrders = done
		default:
			s.Others = append(s.Others, done)
		}
	}
	return s, nil
}

// hotLoads are the load for comparing two numbers of partitions, and further ones for comparing two builds.
var hotLoads = []HotRow{
	{Path: PathDeduct, Goods: 1, Items: 1, Replicas: 1, Gain: Gain{Want: 0.97}},
	{Path: PathOrder, Goods: 1, Items: 1, Replicas: 1, Gain: Gain{Want: 0.97}},
	{Path: PathOrder, Goods: 5, Items: 3, Replicas: 1, Gain: Gain{Want: 0.9}},
	{Path: PathOrder, Goods: 100, Items: 3, Replicas: 1, Gain: Gain{Want: 0.9}},
	{Path: PathOrder, Goods: 100, Items: 3, Replicas: 2, Gain: Gain{Want: 0.85}, MostP99: 1.5},
	{Path: PathOrder, Goods: 100, Items: 3, Replicas: 3, Gain: Gain{Want: 0.85}, MostP99: 1.5},
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
		variants = append(variants, variant{shape: shape{Default, plan.Replicas}, partitions: n, group: group})
	}
	cfg.say("groups of %d, commits of %s: %d legs of %v holders", group, delay, plan.Legs, plan.Holders)
	p := point{path: PathDeduct, goods: plan.Products, clients: plan.Clients, uniform: true}
	all, err := measure(ctx, cfg, p, variants, legs(plan.Legs, cfg.say), nil)
	if err != nil {
		return nil, err
	}
	for i, n := range plan.Holders {
		row := ScaleRow{
			DelayMS: ms(delay), Group: group, Holders: n, Products: plan.Products, DeductsPerS: mean(all[i].perS()),
			Gain: gain(all[0], all[i], wanted[delay][n]),
		}
		cfg.say("%d holders: %s of the first", n, withError(row.Ratio, row.Error))
		rows = append(rows, row)
	}
	return rows, nil
}

func measureHot(ctx context.Context, cfg Config, plan ScalePlan, row HotRow) (*HotRow, error) {
	now := variant{shape: shape{Default, row.Replicas}}
	before := now
	if plan.Before != "" {
		before.bin, row.Than = plan.Before, "the build in "+filepath.Base(plan.Before)
	} else {
		before.partitions, row.Than = 1, "one partition"
	}
	cfg.say("%s, against %s", row.Load(), row.Than)
	p := point{path: row.Path, goods: row.Goods, items: row.Items, uniform: true, clients: usualClients}
	all, err := measure(ctx, cfg, p, []variant{before, now}, legs(2*plan.Legs, cfg.say), nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", row.Load(), err)
	}
	row.Gain = gain(all[0], all[1], row.Want)
	row.P99 = ms(all[1].p99()) / ms(all[0].p99())
	cfg.say("%s: %s", row.Load(), withError(row.Ratio, row.Error))
	return &row, nil
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

// Load describes the load.
func (h HotRow) Load() string {
	if h.Goods == 1 {
		return h.Path + " of one hot product"
	}
	return fmt.Sprintf("%s of 1 to %d of %d products, %d stock services", h.Path, h.Items, h.Goods, h.Replicas)
}

// slow reports whether the 99th percentile is longer than it should be.
func (h HotRow) slow() bool { return h.MostP99 > 0 && h.P99 > h.MostP99 }

// AllRows returns the rows, then the rows of the other groups.
func (s Scale) AllRows() []ScaleRow { return slices.Concat(s.Rows, s.OtherGroups) }

// Compared returns the comparisons that were measured.
func (s Scale) Compared() []*HotRow {
	return slices.DeleteFunc(append([]*HotRow{s.Hot, s.HotOrders}, s.Others...), func(h *HotRow) bool { return h == nil })
}

// Judge returns an error if a figure was missed and targets is set.
func (s Scale) Judge(targets bool) error {
	if missed := (report.Sheet{Parts: s.parts()}).Wrong(); targets && len(missed) > 0 {
		return command.Fail(fmt.Errorf("%d figures were missed", len(missed)))
	}
	return nil
}
