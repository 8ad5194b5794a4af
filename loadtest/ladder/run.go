package ladder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/stack"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
	"orderstock/migrations"
	"orderstock/pkg/operation"
	"orderstock/pkg/opflag"
	"orderstock/pkg/stockapi"
)

// Config configures the measurements. Every exported field but Progress is required.
type Config struct {
	Plan Plan
	// Servers serve every row.
	Servers *stack.Servers
	// Bin is the folder of the services' binaries, and Dir the folder of the run's logs.
	Bin, Dir string
	// Warmup is sent and judged before each turn of a row, but not measured; Measure is the measured time over all rounds.
	// A quick row is measured for twice as long; rows that are compared closely, many times as long.
	Warmup, Measure time.Duration
	// Table gets the rows as they are measured. Progress, if not nil, gets a description of each step.
	Table    io.Writer
	Progress func(doing string)

	// tellStock gives the order services the stock services' addresses, which they otherwise find in ZooKeeper.
	tellStock bool
}

// Run measures the plan's rows. Each row has separate databases, Redis keys and services, so that no row pays for the
// rows of another. The rows of one point take turns, so that a change in the speed of the disk or of the machine
// affects all of them. A row that could not be measured ends the run with an error; the points before it are in the
// result.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	if cfg.Progress == nil {
		cfg.Progress = func(string) {}
	}
	result := &Result{Date: time.Now().UTC().Format(time.DateOnly), Machine: machine()}
	var err error
	if result.Server, err = serverVersion(ctx, cfg.Servers.MySQL); err != nil {
		return result, err
	}
	if _, err := fmt.Fprintf(cfg.Table, "%s · %s\n%s\n", result.Server, result.Machine, header); err != nil {
		return result, fmt.Errorf("print the table: %w", err)
	}
	for _, pass := range cfg.Plan.passes() {
		if err := runPass(ctx, cfg, pass, result); err != nil {
			return result, err
		}
	}
	result.Ratios = ratios(result.Rows)
	if cfg.Plan.Faults {
		return result, measureSurvival(ctx, cfg, result)
	}
	return result, nil
}

// runPass measures the points of one pass of the plan and adds their rows to the result.
func runPass(ctx context.Context, cfg Config, pass Plan, result *Result) error {
	size := cfg.Plan.Size()
	cfg.Plan = pass
	for _, p := range pass.points() {
		cfg.Progress(fmt.Sprintf("%s: rows %d to %d of %d", p, len(result.Rows)+1, len(result.Rows)+len(pass.shapes()), size))
		rows, err := measurePoint(ctx, cfg, len(result.Rows), p, nil)
		if err != nil {
			return fmt.Errorf("measure %s: %w", p, err)
		}
		result.Rows = append(result.Rows, rows...)
		for _, row := range rows {
			if _, err := fmt.Fprintln(cfg.Table, row.Line()); err != nil {
				return fmt.Errorf("print the table: %w", err)
			}
		}
	}
	return nil
}

// measurePoint measures the point with every shape of the plan; before is how many rows there are.
// If prepare is not nil, it is called with all contestants before anything is fired at them.
func measurePoint(ctx context.Context, cfg Config, before int, p point,
	prepare func([]*contestant) error,
) (rows []Row, err error) {
	var all []*contestant
	defer func() {
		for _, c := range all {
			if c.direct != nil {
				err = errors.Join(err, c.direct.close())
			}
			err = errors.Join(err, down(ctx, cfg, c.stack))
		}
	}()
	for i, s := range cfg.Plan.shapes() {
		st, err := up(ctx, cfg, before+i+1, s, p.path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s, err)
		}
		c := &contestant{shape: s, stack: st}
		all = append(all, c)
		if s.strategy == Direct {
			if c.direct, err = openDirect(st); err != nil {
				return nil, fmt.Errorf("%s: %w", s, err)
			}
		}
	}
	if prepare != nil {
		if err := prepare(all); err != nil {
			return nil, err
		}
	}
	for c := range turns(p, all) {
		if err := c.fire(ctx, cfg, p); err != nil {
			return nil, fmt.Errorf("%s: %w", c.shape, err)
		}
	}
	for _, c := range all {
		row, err := c.row(ctx, p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.shape, err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// turns yields the contestant to fire at next, until the point is measured: all in turn, round after round, each in the
// reverse order of the one before, so that a steady drift affects all of them. If the point has rows that are compared
// closely, these also take a turn after every other's: they differ from each other by far less than a few turns of one
// row do. Otherwise the quick rows take a second turn at the end of a round, the last first, which costs little.
func turns(p point, all []*contestant) iter.Seq[*contestant] {
	return func(yield func(*contestant) bool) {
		order, near := slices.Clone(all), closest(p, all)
		for range p.rounds() {
			for _, c := range order {
				if !yield(c) {
					return
				}
				for _, c := range near {
					if !yield(c) {
						return
					}
				}
				slices.Reverse(near)
			}
			slices.Reverse(order)
			for _, c := range order {
				if len(near) == 0 && c.quick() && !yield(c) {
					return
				}
			}
		}
	}
}

// closest returns the rows that need many turns to show a difference: for one client, the default and its
// reference strategy; under load on one hot product, the default with 1 and 3 replicas, and
// conditional-update.
func closest(p point, all []*contestant) []*contestant {
	of := func(is func(shape) bool) []*contestant {
		return slices.DeleteFunc(slices.Clone(all), func(c *contestant) bool { return !is(c.shape) })
	}
	isDefault := func(s shape) bool { return s.strategy == Default }
	var rows []*contestant
	switch {
	case p.sellOut:
	case p.clients == 1:
		than := "conditional-update"
		if p.goods == 1 {
			than = "sequential"
		}
		rows = of(func(s shape) bool { return s.replicas == 1 && (isDefault(s) || s.strategy == than) })
	case p.goods == 1 && slices.Contains(underLoad, p.clients) && len(of(isDefault)) > 1:
		rows = of(func(s shape) bool { return isDefault(s) || s == shape{"conditional-update", 1} })
	}
	if len(rows) < 2 {
		return nil
	}
	return rows
}

// contestant is one row while it is measured.
type contestant struct {
	shape shape
	// partitions of the stock; 0: the services' default.
	partitions int
	stack      *stack.Stack
	direct     *direct // nil unless the shape is Direct
	reports    []*history.Report
	locks      lockCounts
	fired      time.Duration // the time over which locks counts
}

// quick reports whether the last turn's clients were all served soon after its end. Clients of a slow strategy wait
// longer than the turn lasted.
func (c *contestant) quick() bool {
	last := c.reports[len(c.reports)-1]
	return last.Elapsed < 2*last.History.Window
}

// plenty is more stock than any row can sell.
const plenty = 1_000_000_000

// sharedRequests is the order service's default.
const sharedRequests = 4

// fire measures one turn.
func (c *contestant) fire(ctx context.Context, cfg Config, p point) (err error) {
	t := trial.On(c.stack, fire.Config{
		Path:        history.Path(p.path),
		Concurrency: p.clients,
		Warmup:      cfg.Warmup,
		Timeout:     30 * time.Second,
		Mix:         fire.Mix{Goods: p.goods, Stock: plenty, ItemsMax: max(1, p.items), NumMax: 1},
	})
	if p.clients == 1 && len(c.reports) > 0 { // there is no queue to fill, and everything is warm from the turn before
		t.Load.Warmup /= 4
	}
	t.Load.Duration = t.Load.Warmup + cfg.Measure/time.Duration(p.rounds())
	switch {
	case c.direct != nil:
		t.Load.Deduct, t.Load.Place = c.direct.deduct, c.direct.place
	case p.path == PathDeduct:
		stop, startErr := asOrderService(&t.Load, cfg.Servers.Redis.Addr(), c.partitions)
		if startErr != nil {
			return startErr
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	if p.goods > 1 && !p.uniform {
		t.Load.Mix.Zipf = 1
	}
	if p.sellOut {
		t.Load.Mix.Stock = 500
	}
	before, err := countLocks(ctx, cfg, c.stack)
	if err != nil {
		return err
	}
	fired, err := t.Fire(ctx)
	if err != nil {
		return err
	}
	after, err := countLocks(ctx, cfg, c.stack)
	if err != nil {
		return err
	}
	c.locks = c.locks.plus(after.minus(before))
	c.fired += fired.History.Elapsed
	if err := written(ctx, c.stack); err != nil {
		return err
	}
	c.reports = append(c.reports, fired.History.Measure())
	return nil
}

// asOrderService makes the load's deductions like the order service: it sets the flag in Redis, then calls the client
// that shares requests. Callers must call stop when the load has ended.
func asOrderService(load *fire.Config, redis string, partitions int) (stop func() error, err error) {
	client, err := stockapi.NewClient(load.StockURLs, load.StockToken, stockapi.WithSharedRequests(sharedRequests),
		stockapi.WithPartitions(cmp.Or(partitions, operation.Partitions)))
	if err != nil {
		return nil, err
	}
	flags := opflag.Open(redis, slog.New(slog.DiscardHandler))
	load.Deduct = func(ctx context.Context, flag string, items []stockapi.Item) (stockapi.Operation, error) {
		flags.Set(ctx, flag)
		return client.Deduct(ctx, flag, items)
	}
	return func() error {
		client.Close()
		return flags.Close()
	}, nil
}

// row judges all turns and sums them up. Its verdict is the worst.
func (c *contestant) row(ctx context.Context, p point) (Row, error) {
	row := Row{
		Strategy: c.shape.strategy, Path: p.path, Replicas: c.shape.replicas, Goods: p.goods, Clients: p.clients,
		SellOut: p.sellOut, WakeupsPerRelease: c.locks.wakeups(), Verdict: string(verify.Pass),
	}
	for _, report := range c.reports {
		verdict, err := trial.On(c.stack, fire.Config{}).Judge(ctx, report.History)
		if err != nil {
			return row, err
		}
		if verdict.Outcome != verify.Pass && row.Verdict != string(verify.Violation) {
			row.Verdict = string(verdict.Outcome)
		}
	}
	total := history.Sum(c.reports...)
	row.DonePerS, row.RejectedPerS = total.DonePerS, total.RejectedPerS
	row.DoneError = doneError(c.reports)
	row.P50MS, row.P99MS = ms(total.P50), ms(total.P99)
	return row, nil
}

// slice is the time over which sales are counted to see how much they differ.
const slice = 250 * time.Millisecond

// doneError returns the standard error of the sales a second, by the slices of all turns.
func doneError(turns []*history.Report) float64 {
	var rates []float64
	for _, turn := range turns {
		h := turn.History
		counts := make([]float64, max(1, (h.Window-h.Warmup)/slice))
		width := (h.Window - h.Warmup) / time.Duration(len(counts))
		for _, c := range h.Calls {
			if c.Kind == history.Place && (c.Status == history.Done || c.Status == history.Confirmed) && c.Done >= h.Warmup &&
				c.Done < h.Warmup+width*time.Duration(len(counts)) {
				counts[(c.Done-h.Warmup)/width]++
			}
		}
		for _, n := range counts {
			rates = append(rates, n/width.Seconds())
		}
	}
	return standardError(rates)
}

// standardError returns the standard error of the mean of independent values, or 0 for fewer than two.
func standardError(values []float64) float64 {
	n := float64(len(values))
	if n < 2 {
		return 0
	}
	var sum, squares float64
	for _, v := range values {
		sum += v
	}
	for _, v := range values {
		squares += (v - sum/n) * (v - sum/n)
	}
	return math.Sqrt(squares / (n - 1) / n)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// up brings up the services of one row over its own databases.
func up(ctx context.Context, cfg Config, n int, s shape, path string) (*stack.Stack, error) {
	return upWith(ctx, cfg, n, s, path, nil)
}

// upWith is up with env added to the services' environment.
func upWith(ctx context.Context, cfg Config, n int, s shape, path string, env map[string]string) (*stack.Stack, error) {
	accounts := migrations.DefaultAccounts()
	suffix := fmt.Sprintf("_ladder_%d", n)
	accounts.OrderDB += suffix
	accounts.StockDB += suffix
	passwords(&accounts)
	c := stack.Config{
		Dir: filepath.Join(cfg.Dir, strconv.Itoa(n)), Bin: cfg.Bin, Servers: cfg.Servers,
		OrderServices: 1, StockServices: s.replicas,
		Strategy:      s.strategy,
		Accounts:      accounts,
		ZooKeeperRoot: "/orderstock" + suffix,
	}
	if cfg.tellStock {
		c.Route = func(_ string, real stack.Addresses) (stack.Addresses, error) { return real, nil }
	}
	if s.strategy == Direct {
		c.Strategy = Default // of the service that makes the products
	}
	if path == PathDeduct || s.strategy == Direct {
		c.OrderServices = -1
	}
	// The callers of a slow strategy wait: it should be measured, not rejected.
	patient := map[string]string{
		"LOCK_TIMEOUT": "20s", "STOCK_TIMEOUT": "25s", "CONFIRM_BUDGET": "28s",
		"PENDING_LIMIT": "60s", "CANCEL_AFTER": "5m", "REQUEST_TIMEOUT": "25s",
	}
	maps.Copy(patient, env)
	c.StockEnv, c.OrderEnv = patient, patient
	return stack.Up(ctx, c)
}

// down stops the row's services and drops its databases.
func down(ctx context.Context, cfg Config, st *stack.Stack) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	err := st.Stop(ctx)
	for _, db := range []string{st.Accounts().OrderDB, st.Accounts().StockDB} {
		err = errors.Join(err, cfg.Servers.MySQL.Exec(ctx, "DROP DATABASE `"+db+"`"))
	}
	if err != nil {
		return fmt.Errorf("take the row's stack down: %w", err)
	}
	return nil
}

// passwords gives every account the same password over all rows: the users are the server's, not a database's.
func passwords(a *migrations.Accounts) {
	for _, u := range []*migrations.User{&a.OrderApp, &a.StockApp, &a.Migrator, &a.Verifier} {
		u.Password = "ladder-" + u.Name
	}
}

// ReadResult reads the ladder.json that Save wrote.
func ReadResult(file string) (*Result, error) {
	body, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the ladder: %w", err)
	}
	return decodeResult(body)
}
