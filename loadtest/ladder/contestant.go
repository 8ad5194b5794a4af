package ladder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/system"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
	"orderstock/migrations"
	"orderstock/pkg/operation"
	"orderstock/pkg/opflag"
	"orderstock/pkg/stockapi"
)

// variant is a setting of the services to measure. The zero value of a field but shape means the services' default.
type variant struct {
	shape
	build     *build // another build; nil: this one
	impatient bool   // with the services' own time limits
	env       map[string]string
	orderEnv  map[string]string // of the order services alone
}

// contestant is a variant while it is measured.
type contestant struct {
	variant
	system trial.System
	stack  *system.Stack // the system, unless that is in containers
	direct *direct       // nil unless the strategy is Direct
	// begin, if not nil, is called before each turn. The end that it returns is called after the turn.
	begin func(context.Context) (end func() error, err error)

	reports []*history.Report // of the turns
	verdict verify.Outcome    // the worst of all turns
	locks   lockCounts
	fired   time.Duration // the time over which locks counts
}

// measure starts services for the variants, and lets them race.
func measure(
	ctx context.Context, cfg Config, p point, variants []variant, order func([]*contestant) iter.Seq[*contestant],
) (all []*contestant, err error) {
	defer func() {
		for _, c := range all {
			err = errors.Join(err, c.close(ctx))
		}
	}()
	for _, v := range variants {
		c, err := open(ctx, cfg, v, p.path)
		if err != nil {
			return all, fmt.Errorf("%s: %w", v.shape, err)
		}
		all = append(all, c)
	}
	return all, race(ctx, cfg, p, all, order)
}

// race fires at the contestants in the order, and judges all turns of each.
func race(
	ctx context.Context, cfg Config, p point, all []*contestant, order func([]*contestant) iter.Seq[*contestant],
) error {
	for c := range order(all) {
		if err := c.fire(ctx, cfg, p); err != nil {
			return fmt.Errorf("%s: %w", c.shape, err)
		}
	}
	for _, c := range all {
		c.verdict = verify.Pass
		for _, turn := range c.reports {
			verdict, err := trial.On(c.system, fire.Config{}).Judge(ctx, turn.History)
			if err != nil {
				return fmt.Errorf("%s: %w", c.shape, err)
			}
			c.verdict = c.verdict.Or(verdict.Outcome)
		}
	}
	return nil
}

// opened numbers the stacks of this process. Each has its own databases, ZooKeeper nodes and logs.
var opened atomic.Int64

// open starts the services of the variant.
func open(ctx context.Context, cfg Config, v variant, path string) (*contestant, error) {
	suffix := fmt.Sprintf("_ladder_%d", opened.Add(1))
	accounts := migrations.DefaultAccounts()
	for _, name := range []*string{
		&accounts.OrderDB, &accounts.StockDB, &accounts.OrderApp.Name, &accounts.StockApp.Name, &accounts.Migrator.Name,
		&accounts.Verifier.Name,
	} {
		*name += suffix
	}
	env := map[string]string{}
	if !v.impatient { // the callers of a slow strategy wait: it should be measured, not rejected
		env = map[string]string{
			"LOCK_TIMEOUT": "20s", "STOCK_TIMEOUT": "25s", "CONFIRM_BUDGET": "28s",
			"PENDING_LIMIT": "60s", "CANCEL_AFTER": "5m", "REQUEST_TIMEOUT": "25s",
		}
	}
	maps.Copy(env, v.env)
	orderEnv := maps.Clone(env)
	maps.Copy(orderEnv, v.orderEnv)
	sc := system.Config{
		Dir: filepath.Join(cfg.Dir, suffix[1:]), Bin: cfg.Bin, Servers: cfg.Servers,
		OrderServices: 1, StockServices: v.replicas, Strategy: v.strategy, Accounts: accounts,
		ZooKeeperRoot: "/orderstock" + suffix, OrderEnv: orderEnv, StockEnv: env,
	}
	if v.build != nil {
		v.build.configure(&sc)
	}
	if v.strategy == Direct {
		sc.Strategy = Default // of the service that makes the products
	}
	if path == PathDeduct || v.strategy == Direct {
		sc.OrderServices = -1
	}
	st, err := system.Up(ctx, sc)
	if err != nil {
		return nil, err
	}
	c := &contestant{variant: v, system: st, stack: st}
	if v.strategy == Direct {
		if c.direct, err = openDirect(st); err != nil {
			return nil, errors.Join(err, c.close(ctx))
		}
	}
	return c, nil
}

// close stops the services, and drops their databases and users.
func (c *contestant) close(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	if c.direct != nil {
		err = c.direct.close()
	}
	a := c.stack.Accounts()
	drop := []string{"DROP DATABASE `" + a.OrderDB + "`", "DROP DATABASE `" + a.StockDB + "`"}
	for _, u := range []migrations.User{a.OrderApp, a.StockApp, a.Migrator, a.Verifier} {
		drop = append(drop, "DROP USER '"+u.Name+"'@'%'")
	}
	err = errors.Join(err, c.stack.Stop(ctx), c.stack.Servers.MySQL.Exec(ctx, drop...))
	if err != nil {
		return fmt.Errorf("take the stack of %s down: %w", c.shape, err)
	}
	return nil
}

// plenty is more stock than any row can sell.
const plenty = 1_000_000_000

// sharedRequests is the order service's default.
const sharedRequests = 4

// fire measures a turn.
func (c *contestant) fire(ctx context.Context, cfg Config, p point) (err error) {
	if c.begin != nil {
		end, beginErr := c.begin(ctx)
		if beginErr != nil {
			return beginErr
		}
		defer func() { err = errors.Join(err, end()) }()
	}
	t := trial.On(c.system, fire.Config{
		Path: history.Path(p.path), Concurrency: p.clients, Warmup: cfg.Warmup, Timeout: 30 * time.Second, Plain: true,
		Mix: fire.Mix{Goods: p.goods, Stock: plenty, ItemsMax: max(1, p.items), NumMax: 1, Seed: cfg.Seed},
	})
	if p.clients == 1 && len(c.reports) > 0 { // there is no queue to fill, and everything is warm from the turn before
		t.Load.Warmup /= 4
	}
	t.Load.Duration = t.Load.Warmup + cfg.Measure
	if p.goods > 1 && !p.uniform {
		t.Load.Mix.Zipf = 1
	}
	if p.sellOut {
		t.Load.Mix.Stock = 500
	}
	switch {
	case c.direct != nil:
		t.Load.Deduct, t.Load.Place = c.direct.deduct, c.direct.place
	case p.path == PathDeduct:
		stop, startErr := c.asOrderService(&t.Load)
		if startErr != nil {
			return startErr
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	before, err := c.countLocks(ctx)
	if err != nil {
		return err
	}
	fired, err := t.Fire(ctx)
	if err != nil {
		return err
	}
	after, err := c.countLocks(ctx)
	if err != nil {
		return err
	}
	c.locks.add(before, after)
	c.fired += fired.History.Elapsed
	c.reports = append(c.reports, fired.History.Measure())
	return nil
}

// asOrderService makes the load's deductions like the order service: it sets the flag in Redis, then calls the client
// that shares requests. Callers must call stop when the load has ended.
func (c *contestant) asOrderService(load *fire.Config) (stop func() error, err error) {
	partitions, _ := strconv.Atoi(c.env["STOCK_PARTITIONS"]) // a value that is no number stops the services
	client, err := stockapi.NewClient(load.StockURLs, load.StockToken, stockapi.WithSharedRequests(sharedRequests),
		stockapi.WithPartitions(cmp.Or(partitions, operation.Partitions)))
	if err != nil {
		return nil, err
	}
	flags := opflag.Open(c.stack.Servers.Redis.Addr(), slog.New(slog.DiscardHandler))
	load.Deduct = func(ctx context.Context, flag string, items []history.Item) (stockapi.Operation, error) {
		flags.Set(ctx, flag)
		return client.Deduct(ctx, flag, stockapi.ItemsOf(items))
	}
	return func() error {
		client.Close()
		return flags.Close()
	}, nil
}

// last returns the report of the last turn.
func (c *contestant) last() *history.Report { return c.reports[len(c.reports)-1] }

// quick reports whether the last turn's clients were all served soon after its end. Clients of a slow strategy wait
// longer than the turn lasted.
func (c *contestant) quick() bool { return c.last().Elapsed < 2*c.last().History.Window }

// perS returns the sales a second of each turn.
func (c *contestant) perS() (rates []float64) {
	for _, turn := range c.reports {
		rates = append(rates, turn.DonePerS)
	}
	return rates
}

// p99 returns the median of the turns' 99th percentiles.
func (c *contestant) p99() time.Duration {
	var all []time.Duration
	for _, turn := range c.reports {
		all = append(all, turn.P99)
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// row sums all turns up.
func (c *contestant) row(p point) Row {
	total := history.Sum(c.reports...)
	return Row{
		Strategy: c.strategy, Path: p.path, Replicas: c.replicas, Goods: p.goods, Clients: p.clients, SellOut: p.sellOut,
		DonePerS: total.DonePerS, DoneError: doneError(c.reports), RejectedPerS: total.RejectedPerS,
		P50MS: ms(total.P50), P99MS: ms(total.P99), WakeupsPerRelease: c.locks.wakeups(), Verdict: c.verdict,
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
