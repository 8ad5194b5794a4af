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

// Scale says what more holders of locks, more replicas and the compose file's containers add or cost, and what
// happens when a holder fails.
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
	// Failing are the runs during which the holder of a lock fails.
	Failing []FailingRow `json:"failing,omitempty"`
	// Compose is the compose file's stack.
	Compose *ComposeScale `json:"compose,omitempty"`
}

// ScaleRow is the measurement with one number of holders.
type ScaleRow struct {
	// DelayMS is how long the database lets each commit wait, as a replicated primary does.
	DelayMS float64 `json:"delay_ms"`
	// Group is the most operations of one transaction.
	Group       int     `json:"group"`
	Holders     int     `json:"holders"`
	Products    int     `json:"products"`
	DeductsPerS float64 `json:"deducts_per_s"`
	// Ratio is to one holder, and Error its standard error, by the legs.
	Ratio   float64 `json:"ratio"`
	Error   float64 `json:"error"`
	Want    float64 `json:"want,omitempty"`
	Verdict string  `json:"verdict"`
}

// HotRow compares two builds or two settings on one product.
type HotRow struct {
	Path    string  `json:"path"`
	Than    string  `json:"than"`
	Ratio   float64 `json:"ratio"`
	Error   float64 `json:"error"`
	Want    float64 `json:"want"`
	Verdict string  `json:"verdict"`
}

// ScalePlan says what to measure.
type ScalePlan struct {
	Delays  []time.Duration
	Groups  []int
	Holders []int
	// Products, Clients and Replicas of the stock service, for the rows.
	Products, Clients, Replicas int
	// Legs is how often all take turns.
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
	if s.Hot, err = measureHot(ctx, cfg, plan, PathDeduct); err != nil {
		return s, err
	}
	if plan.Before != "" {
		s.HotOrders, err = measureHot(ctx, cfg, plan, PathOrder)
	}
	return s, err
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
	legs, verdicts, err := measureLegs(ctx, cfg, shapes, p, plan.Legs)
	if err != nil {
		return nil, err
	}
	for i, n := range plan.Holders {
		row := ScaleRow{
			DelayMS: float64(delay.Microseconds()) / 1000, Group: group, Holders: n, Products: plan.Products,
			DeductsPerS: PerS(legs[i]), Ratio: PerS(legs[i]) / PerS(legs[0]), Error: legsError(legs[0], legs[i]),
			Want: wanted[delay][n], Verdict: verdicts[i],
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func measureHot(ctx context.Context, cfg Config, plan ScalePlan, path string) (*HotRow, error) {
	hot := &HotRow{Path: path, Than: "one partition", Want: 0.97}
	shapes := []partitioned{{replicas: 1, partitions: 1}, {replicas: 1}}
	if plan.Before != "" {
		hot.Than = "the build in " + filepath.Base(plan.Before)
		shapes[0] = partitioned{replicas: 1, bin: plan.Before}
	}
	cfg.Progress(path + " of one hot product, beside " + hot.Than)
	legs, verdicts, err := measureLegs(ctx, cfg, shapes, point{path: path, goods: 1, clients: UsualClients}, 2*plan.Legs)
	if err != nil {
		return nil, fmt.Errorf("%s of one hot product: %w", path, err)
	}
	hot.Ratio, hot.Error, hot.Verdict = PerS(legs[1])/PerS(legs[0]), legsError(legs[0], legs[1]), verdicts[1]
	if _, err := fmt.Fprintln(cfg.Table, hot.Line()); err != nil {
		return nil, fmt.Errorf("print the ratio: %w", err)
	}
	return hot, nil
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

// measureLegs lets the shapes take turns at the point, and returns for each its legs and the verdict on all
// of them. Each leg goes in the reverse order of the one before.
func measureLegs(
	ctx context.Context, cfg Config, shapes []partitioned, p point, legs int,
) (rows [][]Row, verdicts []string, err error) {
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
			return nil, nil, fmt.Errorf("%+v: %w", s, err)
		}
		all = append(all, &contestant{shape: of, partitions: s.partitions, stack: st})
	}
	rows = make([][]Row, len(all))
	for leg := range legs {
		for k := range all {
			i := k
			if leg%2 == 1 {
				i = len(all) - 1 - k
			}
			if err := all[i].fire(ctx, cfg, p); err != nil {
				return nil, nil, fmt.Errorf("%+v: %w", shapes[i], err)
			}
			rows[i] = append(rows[i], Row{DonePerS: all[i].reports[leg].DonePerS})
		}
	}
	for _, c := range all {
		row, err := c.row(ctx, p)
		if err != nil {
			return nil, nil, fmt.Errorf("%+v: %w", c.shape, err)
		}
		verdicts = append(verdicts, row.Verdict)
	}
	return rows, verdicts, nil
}

// delayCommits makes each commit of the server wait for d, as on a replicated primary. Commits that come during the wait
// join it. The function that it returns ends the delay.
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
		"  want %4.1f  %s", r.Group, r.DelayMS, r.Holders, r.Products, r.DeductsPerS, r.Ratio, r.Error, r.Want, r.Verdict)
}

// Line returns the row as a line to print.
func (h HotRow) Line() string {
	return fmt.Sprintf("%s of one hot product / %s: %.2f ±%.2f, want %.2f, %s",
		h.Path, h.Than, h.Ratio, h.Error, h.Want, h.Verdict)
}

// AllRows returns the rows, then the rows of the other groups.
func (s Scale) AllRows() []ScaleRow { return slices.Concat(s.Rows, s.OtherGroups) }

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
	for _, h := range []*HotRow{s.Hot, s.HotOrders} {
		if h != nil && (h.Verdict != "pass" || h.Ratio+h.Error < h.Want) {
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
