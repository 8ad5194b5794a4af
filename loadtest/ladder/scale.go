package ladder

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"orderstock/loadtest/history"
	"orderstock/pkg/servers"
)

// Scale measures the gain of more lock holders and replicas, the cost of the compose file's containers, and the failure
// of a holder.
type Scale struct {
	Server  string `json:"server"`
	Machine string `json:"machine"`
	Date    string `json:"date"`
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

// ScaleRow is the measurement with one number of holders.
type ScaleRow struct {
	// DelayMS is the delay of each commit in the database, like a replicated primary's.
	DelayMS float64 `json:"delay_ms"`
	// Group is the maximum number of operations in one transaction.
	Group       int     `json:"group"`
	Holders     int     `json:"holders"`
	Products    int     `json:"products"`
	DeductsPerS float64 `json:"deducts_per_s"`
	// Ratio is to one holder, and Error its standard error, by the legs.
	Ratio float64 `json:"ratio"`
	Error float64 `json:"error"`
	Want  float64 `json:"want,omitempty"`
	// Handovers is how often a second a lock went from one stock service to another.
	Handovers float64 `json:"handovers_per_s"`
	Verdict   string  `json:"verdict"`
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
	Ratio   float64 `json:"ratio"`
	Error   float64 `json:"error"`
	Want    float64 `json:"want"`
	// Handovers is how often a second a lock went from one stock service to another.
	Handovers float64 `json:"handovers_per_s"`
	Verdict   string  `json:"verdict"`
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

// UsualClients is the number of clients of one hot product, and of the compose file's stack.
const UsualClients = 256

// wanted is the ratio that the holders should reach, by delay and number of holders.
var wanted = map[time.Duration]map[int]float64{
	0:                     {2: 1.4},
	5 * time.Millisecond:  {2: 1.6, 4: 2.7, 8: 3.7},
	20 * time.Millisecond: {2: 1.7, 4: 3.0, 8: 5.0},
}

// MeasureScale measures the rows of the plan, and the hot product.
func MeasureScale(ctx context.Context, cfg Config, plan ScalePlan) (s Scale, err error) {
	s = Scale{Machine: machine(), Date: time.Now().UTC().Format(time.DateOnly)}
	if s.Server, err = serverVersion(ctx, cfg.Servers.MySQL); err != nil {
		return s, err
	}
	for i, group := range plan.Groups {
		for _, delay := range plan.Delays {
			rows, err := measureHolders(ctx, cfg, plan, group, delay)
			if err != nil {
				return s, fmt.Errorf("groups of %d, commits of %s: %w", group, delay, err)
			}
			for _, row := range rows {
				if _, err := fmt.Fprintln(cfg.Table, row.Line()); err != nil {
					return s, fmt.Errorf("print the row: %w", err)
				}
			}
			if i == 0 {
				s.Rows = append(s.Rows, rows...)
			} else {
				s.OtherGroups = append(s.OtherGroups, rows...)
			}
		}
	}
	hot := HotRow{Path: PathDeduct, Goods: 1, Items: 1, Replicas: 1, Want: 0.97}
	if s.Hot, err = measureHot(ctx, cfg, plan, hot); err != nil || plan.Before == "" {
		return s, err
	}
	hot.Path = PathOrder
	if s.HotOrders, err = measureHot(ctx, cfg, plan, hot); err != nil {
		return s, err
	}
	for _, row := range baskets {
		done, err := measureHot(ctx, cfg, plan, row)
		if err != nil {
			return s, err
		}
		s.Others = append(s.Others, done)
	}
	return s, nil
}

// baskets are the loads of orders of several products for comparing two builds.
var baskets = []HotRow{
	{Path: PathOrder, Goods: 5, Items: 3, Replicas: 1, Want: 0.9},
	{Path: PathOrder, Goods: 100, Items: 3, Replicas: 1, Want: 0.9},
	{Path: PathOrder, Goods: 100, Items: 3, Replicas: 2, Want: 0.85, MostP99: 1.5},
	{Path: PathOrder, Goods: 100, Items: 3, Replicas: 3, Want: 0.85, MostP99: 1.5},
}

func measureHolders(
	ctx context.Context, cfg Config, plan ScalePlan, group int, delay time.Duration,
) (rows []ScaleRow, err error) {
	undo, err := delayCommits(ctx, cfg.Servers.MySQL, delay)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, undo()) }()
	shapes := make([]partitioned, len(plan.Holders))
	for i, n := range plan.Holders {
		shapes[i] = partitioned{replicas: plan.Replicas, partitions: n, group: group}
	}
	cfg.Progress(fmt.Sprintf("groups of %d, commits of %s: %d legs of %v holders", group, delay, plan.Legs, plan.Holders))
	p := point{path: PathDeduct, goods: plan.Products, clients: plan.Clients, uniform: true}
	legs, err := measureLegs(ctx, cfg, shapes, p, plan.Legs)
	if err != nil {
		return nil, err
	}
	for i, n := range plan.Holders {
		row := ScaleRow{
			DelayMS: float64(delay.Microseconds()) / 1000, Group: group, Holders: n, Products: plan.Products,
			DeductsPerS: mean(legs[i].perS), Ratio: mean(legs[i].perS) / mean(legs[0].perS),
			Error: legsError(legs[0].perS, legs[i].perS),
			Want:  wanted[delay][n], Handovers: legs[i].handovers, Verdict: legs[i].verdict,
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func measureHot(ctx context.Context, cfg Config, plan ScalePlan, row HotRow) (*HotRow, error) {
	row.Than = "one partition"
	shapes := []partitioned{{replicas: row.Replicas, partitions: 1}, {replicas: row.Replicas}}
	if plan.Before != "" {
		row.Than = "the build in " + filepath.Base(plan.Before)
		shapes[0] = partitioned{replicas: row.Replicas, bin: plan.Before}
	}
	cfg.Progress(row.Load() + ", against " + row.Than)
	p := point{path: row.Path, goods: row.Goods, items: row.Items, uniform: true, clients: UsualClients}
	legs, err := measureLegs(ctx, cfg, shapes, p, 2*plan.Legs)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", row.Load(), err)
	}
	before, now := legs[0], legs[1]
	row.Ratio, row.Error = mean(now.perS)/mean(before.perS), legsError(before.perS, now.perS)
	row.P99, row.Handovers, row.Verdict = now.p99()/before.p99(), now.handovers, now.verdict
	if _, err := fmt.Fprintln(cfg.Table, row.Line()); err != nil {
		return nil, fmt.Errorf("print the ratio: %w", err)
	}
	return &row, nil
}

// legsOf are the legs of one shape.
type legsOf struct {
	perS, p99MS []float64
	// verdict is the worst; handovers of a lock are counted per second.
	verdict   string
	handovers float64
}

// p99 returns the median of the legs' 99th percentiles.
func (l legsOf) p99() float64 {
	all := slices.Sorted(slices.Values(l.p99MS))
	return all[len(all)/2]
}

// partitioned is the default strategy with a number of stock services and of partitions.
type partitioned struct {
	replicas int
	// partitions of the stock; 0: the services' default.
	partitions int
	// group bounds the operations of one transaction; 0: the services' default.
	group int
	// bin is the folder of the binaries; empty: the run's.
	bin string
}

// measureLegs lets the shapes take turns at the point, and returns the legs of each. Each leg goes in the reverse order
// of the one before.
func measureLegs(
	ctx context.Context, cfg Config, shapes []partitioned, p point, n int,
) (legs []legsOf, err error) {
	var all []*contestant
	defer func() {
		for _, c := range all {
			err = errors.Join(err, down(ctx, cfg, c.stack))
		}
	}()
	for i, s := range shapes {
		own, env, of := cfg, map[string]string{}, shape{Default, s.replicas}
		own.Bin = cmp.Or(s.bin, cfg.Bin)
		own.tellStock = s.bin != "" // an earlier build may not look in ZooKeeper
		if s.partitions > 0 {
			env["STOCK_PARTITIONS"] = strconv.Itoa(s.partitions)
		}
		if s.group > 0 {
			env["STOCK_GROUP"] = strconv.Itoa(s.group)
		}
		st, err := upWith(ctx, own, i+1, of, p.path, env)
		if err != nil {
			return nil, fmt.Errorf("%+v: %w", s, err)
		}
		all = append(all, &contestant{shape: of, partitions: s.partitions, stack: st})
	}
	legs = make([]legsOf, len(all))
	for leg := range n {
		for k := range all {
			i := k
			if leg%2 == 1 {
				i = len(all) - 1 - k
			}
			if err := all[i].fire(ctx, cfg, p); err != nil {
				return nil, fmt.Errorf("%+v: %w", shapes[i], err)
			}
			report := all[i].reports[leg]
			legs[i].perS, legs[i].p99MS = append(legs[i].perS, report.DonePerS), append(legs[i].p99MS, ms(report.P99))
		}
	}
	for i, c := range all {
		row, err := c.row(ctx, p)
		if err != nil {
			return nil, fmt.Errorf("%+v: %w", c.shape, err)
		}
		legs[i].verdict, legs[i].handovers = row.Verdict, c.locks.handovers/c.fired.Seconds()
	}
	return legs, nil
}

// delayCommits makes each commit of the server wait for d, like on a replicated primary. Commits that arrive during the
// wait join it. The returned function ends the delay.
func delayCommits(ctx context.Context, m *servers.MySQL, d time.Duration) (undo func() error, err error) {
	set := func(ctx context.Context, d time.Duration) error {
		version, err := serverVersion(ctx, m)
		if err != nil {
			return err
		}
		statements := []string{fmt.Sprintf("SET GLOBAL binlog_group_commit_sync_delay = %d", d.Microseconds())}
		if strings.HasPrefix(version, "MariaDB") { // it waits only for a number of commits, here more than ever come
			statements = []string{
				fmt.Sprintf("SET GLOBAL binlog_commit_wait_count = %d", min(d.Microseconds(), 1)*10000),
				fmt.Sprintf("SET GLOBAL binlog_commit_wait_usec = %d", d.Microseconds()),
			}
		}
		db, err := sql.Open("mysql", m.AdminDSN())
		if err != nil {
			return fmt.Errorf("delay commits: %w", err)
		}
		defer func() { _ = db.Close() }()
		for _, statement := range statements {
			if _, err := db.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("delay commits: %w", err)
			}
		}
		return nil
	}
	return func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		return set(ctx, 0)
	}, set(ctx, d)
}

// Line returns the row as a line to print.
func (r ScaleRow) Line() string {
	return fmt.Sprintf("groups of %3d  commits of %2.0f ms  %2d holders  %4d products  %8.0f deductions/s  %5.2f ±%.2f"+
		"  want %4.1f  %5.1f hand-overs/s  %s",
		r.Group, r.DelayMS, r.Holders, r.Products, r.DeductsPerS, r.Ratio, r.Error, r.Want, r.Handovers, r.Verdict)
}

// Load describes the load.
func (h HotRow) Load() string {
	if h.Goods == 1 {
		return h.Path + " of one hot product"
	}
	return fmt.Sprintf("%s of 1 to %d of %d products, %d stock services", h.Path, h.Items, h.Goods, h.Replicas)
}

// Line returns the row as a line to print.
func (h HotRow) Line() string {
	return fmt.Sprintf("%s / %s: %.2f ±%.2f, want %.2f, p99 %.2f, %.1f hand-overs/s, %s",
		h.Load(), h.Than, h.Ratio, h.Error, h.Want, h.P99, h.Handovers, h.Verdict)
}

func (h HotRow) missed() bool {
	return h.Verdict != "pass" || h.Ratio+h.Error < h.Want || h.MostP99 > 0 && h.P99 > h.MostP99
}

// AllRows returns the rows, then the rows of the other groups.
func (s Scale) AllRows() []ScaleRow { return slices.Concat(s.Rows, s.OtherGroups) }

// Compared returns the comparisons that were measured.
func (s Scale) Compared() []*HotRow {
	return slices.DeleteFunc(append([]*HotRow{s.Hot, s.HotOrders}, s.Others...), func(h *HotRow) bool { return h == nil })
}

// Save writes scale.json and scale.svg into the folder.
func (s Scale) Save(folder string) error {
	return errors.Join(history.SaveJSON(filepath.Join(folder, "scale.json"), s),
		s.Draw(filepath.Join(folder, "scale.svg")))
}

// Missed returns the rows that missed their target, or whose verdict is not pass.
func (s Scale) Missed() (missed []string) {
	for _, r := range s.AllRows() {
		if r.Verdict != "pass" || r.Ratio+r.Error < r.Want {
			missed = append(missed, r.Line())
		}
	}
	for _, h := range s.Compared() {
		if h.missed() {
			missed = append(missed, h.Line())
		}
	}
	for _, f := range s.Failing {
		if !f.OK {
			missed = append(missed, f.Line())
		}
	}
	if s.Compose != nil {
		missed = append(missed, s.Compose.missed()...)
	}
	return missed
}
