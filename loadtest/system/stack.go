package system

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/verify"
	"orderstock/migrations"
	"orderstock/pkg/mysqldb"
	"orderstock/pkg/servers"
	"orderstock/stock-service/deduct"
)

// Stack is a running stack.
type Stack struct {
	Servers *Servers
	Order   []*Service
	Stock   []*Service

	cfg Config
	// since is ZooKeeper's last transaction before the services were started.
	since int64
}

// Up brings up the schemas, then the stock services, then the order services, and returns when all of them
// are ready. If something fails, Up kills everything it has started. The error names the failed part and holds the end
// of its log.
func Up(ctx context.Context, cfg Config) (*Stack, error) {
	cfg = cfg.withDefaults()
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("bring up the stack: %w", err)
	}
	bin, err := filepath.Abs(cfg.Bin)
	if err != nil {
		return nil, fmt.Errorf("bring up the stack: %w", err)
	}
	cfg.Dir, cfg.Bin = dir, bin
	if _, err := deduct.Find(cfg.Strategy); err != nil {
		return nil, fmt.Errorf("bring up the stack: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("bring up the stack: %w", err)
	}
	st := &Stack{cfg: cfg, Servers: cfg.Servers}
	if err := st.up(ctx); err != nil {
		return nil, errors.Join(err, st.Kill())
	}
	return st, nil
}

func (st *Stack) up(ctx context.Context) error {
	st.cfg.Progress("making databases, users and tables")
	if err := st.migrate(ctx); err != nil {
		return err
	}
	st.since = verify.LastTransaction(ctx, strings.Split(st.Servers.ZooKeeper.Addr(), ","))
	st.cfg.Progress(fmt.Sprintf("starting %d stock and %d order services", max(st.cfg.StockServices, 0),
		max(st.cfg.OrderServices, 0)))
	var err error
	if st.Stock, err = st.startAll(ctx, Stock, st.cfg.StockServices); err != nil {
		return err
	}
	st.Order, err = st.startAll(ctx, Order, st.cfg.OrderServices)
	return err
}

// migrate makes databases, users and tables. Another build has its own program for that.
func (st *Stack) migrate(ctx context.Context) error {
	admin, a := st.Servers.MySQL.AdminDSN(), st.cfg.Accounts
	if st.cfg.Build == "" {
		if err := migrations.Run(ctx, migrations.Config{AdminDSN: admin, Accounts: a}); err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
		return nil
	}
	cmd := exec.CommandContext(ctx, filepath.Join(st.cfg.Build, "migrate"), "up")
	cmd.Env = servers.Environment(
		"MYSQL_ADMIN_DSN="+admin, "ORDER_DB_PASSWORD="+a.OrderApp.Password, "STOCK_DB_PASSWORD="+a.StockApp.Password,
		"MIGRATE_DB_PASSWORD="+a.Migrator.Password, "VERIFY_DB_PASSWORD="+a.Verifier.Password,
	)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make the tables of the build in %s: %w: %s", st.cfg.Build, err, out)
	}
	return nil
}

// startAll starts n services of a kind together. If one of them fails, the others are killed.
func (st *Stack) startAll(ctx context.Context, kind Kind, n int) ([]*Service, error) {
	var starts []func() (*Service, error)
	for i := range max(n, 0) {
		starts = append(starts, func() (*Service, error) { return st.newService(ctx, kind, i+1) })
	}
	return servers.StartAll(starts...)
}

// Services returns all services, the order services first.
func (st *Stack) Services() []*Service { return slices.Concat(st.Order, st.Stock) }

// fleet returns the services as servers.
func fleet(services []*Service) (all servers.Fleet) {
	for _, s := range services {
		all = append(all, s.Server)
	}
	return all
}

// Dead returns the services and servers whose process has ended.
func (st *Stack) Dead() []*servers.Server {
	all := append(fleet(st.Services()), st.Servers.All()...)
	return slices.DeleteFunc(all, func(s *servers.Server) bool { return s.Running() || s.Done() == nil }) // nil: attached
}

// Stop stops the order services, then the stock services, each gracefully. All are stopped, even if one fails. The ones
// still running when ctx ends are killed.
func (st *Stack) Stop(ctx context.Context) error {
	return errors.Join(fleet(st.Order).Stop(ctx), fleet(st.Stock).Stop(ctx))
}

// Kill kills the services.
func (st *Stack) Kill() error { return fleet(st.Services()).Kill() }

// Token returns the stock services' bearer token.
func (st *Stack) Token() string { return st.cfg.Token }

// Strategy returns the stock services' deduction strategy.
func (st *Stack) Strategy() string { return st.cfg.Strategy }

// ZooKeeperRoot returns the ZooKeeper root of the services.
func (st *Stack) ZooKeeperRoot() string { return st.cfg.ZooKeeperRoot }

// Accounts returns the databases and users, with their passwords.
func (st *Stack) Accounts() migrations.Accounts { return st.cfg.Accounts }

// Target returns the addresses for the load tester.
func (st *Stack) Target() fire.Target {
	after, _ := time.ParseDuration(st.cfg.OrderEnv["CANCEL_AFTER"]) // no service starts with a wrong one
	ttl, _ := time.ParseDuration(st.cfg.OrderEnv["PRICE_TTL"])
	return fire.Target{
		OrderURLs: urls(st.Order), StockURLs: urls(st.Stock), StockToken: st.cfg.Token, CancelAfter: after,
		PriceTTL: ttl, Strategy: st.Strategy(),
	}
}

// Databases returns the databases for the verifier.
func (st *Stack) Databases() verify.Databases {
	a := st.cfg.Accounts
	return verify.Databases{
		OrderDSN: dsn(st.Servers.MySQL.Addr(), a.Verifier, a.OrderDB),
		StockDSN: dsn(st.Servers.MySQL.Addr(), a.Verifier, a.StockDB),

		ZooKeeperAddrs: strings.Split(st.Servers.ZooKeeper.Addr(), ","), Since: st.since,
	}
}

// ServiceDSNs returns the DSNs of the services' users for their databases, past every Route.
func (st *Stack) ServiceDSNs() (order, stock string) {
	a, addr := st.cfg.Accounts, st.Servers.MySQL.Addr()
	return dsn(addr, a.OrderApp, a.OrderDB), dsn(addr, a.StockApp, a.StockDB)
}

// LoadtestEnv returns Target and Databases as the environment of the command loadtest.
func (st *Stack) LoadtestEnv() map[string]string {
	t, d := st.Target(), st.Databases()
	env := map[string]string{
		"ORDER_URLS":       strings.Join(t.OrderURLs, ","),
		"STOCK_URLS":       strings.Join(t.StockURLs, ","),
		"STOCK_STRATEGY":   t.Strategy,
		"SERVICE_TOKEN":    t.StockToken,
		"VERIFY_ORDER_DSN": d.OrderDSN,
		"VERIFY_STOCK_DSN": d.StockDSN,
	}
	if t.CancelAfter > 0 {
		env["CANCEL_AFTER"] = t.CancelAfter.String()
	}
	if t.PriceTTL > 0 {
		env["PRICE_TTL"] = t.PriceTTL.String()
	}
	return env
}

func urls(services []*Service) []string {
	var out []string
	for _, s := range services {
		out = append(out, s.URL())
	}
	return out
}

// dsn returns the DSN of a user for a database.
func dsn(addr string, u migrations.User, database string) string {
	c := mysql.NewConfig()
	c.User, c.Passwd, c.Net, c.Addr, c.DBName = u.Name, u.Password, "tcp", addr, database
	if strings.Contains(addr, ",") {
		c.Net = mysqldb.GroupNet
	}
	c.ParseTime = true
	return c.FormatDSN()
}
