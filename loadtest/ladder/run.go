package ladder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"orderstock/loadtest"
	"orderstock/migrations"
	"orderstock/pkg/opflag"
	"orderstock/pkg/stack"
)

// Config says how to measure. Every field but Progress is required.
type Config struct {
	Plan Plan
	// Servers serve every row.
	Servers *stack.Servers
	// Bin is the folder of the services' binaries, and Dir that of the run's logs.
	Bin, Dir string
	// Warmup is sent and judged, but not measured; Measure is the time that counts.
	Warmup, Measure time.Duration
	// Table is where the rows go as they are measured, and Progress, where not
	// nil, what is being done.
	Table    io.Writer
	Progress func(doing string)
}

// Run measures the plan's rows one after the other. Each row has databases,
// Redis keys and services of its own, so that no row pays for the rows of
// another. A row that could not be measured ends the run with an error; the
// rows before it are in the result.
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
	n := 0
	for _, replicas := range cfg.Plan.Replicas {
		for _, p := range cfg.Plan.points() {
			for _, strategy := range cfg.Plan.Strategies {
				n++
				cfg.Progress(fmt.Sprintf("row %d of %d", n, cfg.Plan.Size()))
				row, err := measure(ctx, cfg, n, shape{strategy, replicas}, p)
				if err != nil {
					return result, fmt.Errorf("measure %s with %d clients on path %s: %w", strategy, p.clients, p.path, err)
				}
				result.Rows = append(result.Rows, row)
				if _, err := fmt.Fprintln(cfg.Table, row.Line()); err != nil {
					return result, fmt.Errorf("print the table: %w", err)
				}
			}
		}
	}
	result.Ratios = ratios(result.Rows)
	return result, nil
}

// plenty is more stock than any row can sell.
const plenty = 1_000_000_000

func measure(ctx context.Context, cfg Config, n int, s shape, p point) (_ Row, err error) {
	row := Row{Strategy: s.strategy, Path: p.path, Replicas: s.replicas, Goods: p.goods, Clients: p.clients, SellOut: p.sellOut}
	st, err := up(ctx, cfg, n, s, p.path)
	if err != nil {
		return row, err
	}
	defer func() { err = errors.Join(err, down(ctx, cfg, st)) }()

	fire := loadtest.FireConfig{
		OrderURLs:   split(st.LoadtestEnv()["ORDER_URLS"]),
		StockURLs:   split(st.LoadtestEnv()["STOCK_URLS"]),
		StockToken:  st.Token(),
		Path:        loadtest.Path(p.path),
		Concurrency: p.clients,
		Warmup:      cfg.Warmup,
		Duration:    cfg.Warmup + cfg.Measure,
		Timeout:     30 * time.Second,
		Mix:         loadtest.Mix{Goods: p.goods, Stock: plenty, ItemsMax: 1, NumMax: 1},
	}
	if p.path == PathDeduct {
		flags := opflag.Open(cfg.Servers.Redis.Addr(), slog.New(slog.DiscardHandler))
		defer func() { err = errors.Join(err, flags.Close()) }()
		fire.Announce = func(ctx context.Context, flag string) { flags.Set(ctx, flag) }
	}
	if p.goods > 1 {
		fire.Mix.Zipf = 1
	}
	if p.sellOut {
		fire.Mix.Stock = 500
	}
	before, err := countLocks(ctx, cfg, st)
	if err != nil {
		return row, err
	}
	report, err := loadtest.Fire(ctx, fire)
	if err != nil {
		return row, err
	}
	after, err := countLocks(ctx, cfg, st)
	if err != nil {
		return row, err
	}
	verdict, err := loadtest.Verify(ctx, loadtest.VerifyConfig{
		OrderDSN: st.LoadtestEnv()["VERIFY_ORDER_DSN"], StockDSN: st.LoadtestEnv()["VERIFY_STOCK_DSN"],
		History: report.History, Settle: time.Minute,
	})
	if err != nil {
		return row, err
	}
	row.DonePerS, row.RejectedPerS = report.DonePerS, report.RejectedPerS
	row.P50MS, row.P99MS = ms(report.P50), ms(report.P99)
	row.WakeupsPerRelease = after.since(before)
	row.Verdict = string(verdict.Outcome)
	return row, nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

// up brings up the services of one row over databases of its own.
func up(ctx context.Context, cfg Config, n int, s shape, path string) (*stack.Stack, error) {
	accounts := migrations.DefaultAccounts()
	suffix := fmt.Sprintf("_ladder_%d", n)
	accounts.OrderDB += suffix
	accounts.StockDB += suffix
	passwords(&accounts)
	c := stack.Config{
		Dir: filepath.Join(cfg.Dir, strconv.Itoa(n)), Bin: cfg.Bin, Servers: cfg.Servers,
		OrderServices: 1, StockServices: s.replicas,
		StockEnv:      map[string]string{"STOCK_STRATEGY": s.strategy},
		Accounts:      accounts,
		ZooKeeperRoot: "/orderstock" + suffix,
	}
	if path == PathDeduct {
		c.OrderServices = -1
	}
	// A slow strategy is to be measured and not turned away: its callers wait.
	patient := map[string]string{"LOCK_TIMEOUT": "20s", "STOCK_TIMEOUT": "25s", "CONFIRM_BUDGET": "28s", "PENDING_LIMIT": "60s", "CANCEL_AFTER": "5m", "REQUEST_TIMEOUT": "25s"}
	maps.Copy(c.StockEnv, patient)
	c.OrderEnv = patient
	if s.strategy == Unsafe {
		c.StockArgs = []string{"--allow-unsafe"}
	}
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

// ReadResult reads a result that Write wrote.
func ReadResult(file string) (*Result, error) {
	body, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the ladder: %w", err)
	}
	return decodeResult(body)
}
