package system

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"orderstock/loadtest/verify"
	"orderstock/migrations"
	"orderstock/pkg/mysqldb"
	"orderstock/pkg/servers"
	"orderstock/stock-service/deduct"
)

// up makes the schemas, then starts the stock services, then the order services. All of them are ready when it returns.
func (s *System) up(ctx context.Context) error {
	if _, err := deduct.Find(s.cfg.Strategy); err != nil {
		return err
	}
	if err := os.MkdirAll(s.cfg.Dir, 0o755); err != nil {
		return err
	}
	s.cfg.Progress("making databases, users and tables")
	if err := s.migrate(ctx); err != nil {
		return err
	}
	s.since = verify.LastTransaction(ctx, s.addresses().ZooKeeper)
	s.cfg.Progress(fmt.Sprintf("starting %d stock and %d order services", max(s.cfg.StockServices, 0),
		max(s.cfg.OrderServices, 0)))
	var err error
	if s.Stocks, err = s.startAll(ctx, Stock, s.cfg.StockServices); err != nil {
		return err
	}
	s.Orders, err = s.startAll(ctx, Order, s.cfg.OrderServices)
	return err
}

// migrate makes databases, users and tables. Another build has its own program for that.
func (s *System) migrate(ctx context.Context) error {
	admin, a := s.MySQL.AdminDSN(), s.cfg.Accounts
	if s.cfg.Build == "" {
		if err := migrations.Run(ctx, migrations.Config{AdminDSN: admin, Accounts: a}); err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
		return nil
	}
	cmd := exec.CommandContext(ctx, filepath.Join(s.cfg.Build, "migrate"), "up")
	cmd.Env = servers.Environment(
		"MYSQL_ADMIN_DSN="+admin, "ORDER_DB_PASSWORD="+a.OrderApp.Password, "STOCK_DB_PASSWORD="+a.StockApp.Password,
		"MIGRATE_DB_PASSWORD="+a.Migrator.Password, "VERIFY_DB_PASSWORD="+a.Verifier.Password,
	)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make the tables of the build in %s: %w: %s", s.cfg.Build, err, out)
	}
	return nil
}

// startAll starts n services of a kind together. If one of them fails, the others are killed.
func (s *System) startAll(ctx context.Context, kind Kind, n int) ([]*Service, error) {
	var starts []func() (*Service, error)
	for i := range max(n, 0) {
		starts = append(starts, func() (*Service, error) { return s.newService(ctx, kind, i+1) })
	}
	return servers.StartAll(starts...)
}

// fleet returns the services as servers.
func fleet(services []*Service) (all servers.Fleet) {
	for _, s := range services {
		all = append(all, s.Server)
	}
	return all
}

// Dead returns the services and servers whose process has ended.
func (s *System) Dead() []*servers.Server {
	all := append(fleet(s.Replicas()), s.Servers.All()...)
	return slices.DeleteFunc(all, func(s *servers.Server) bool { return s.Running() || s.Done() == nil }) // nil: attached
}

// ZooKeeperRoot returns the ZooKeeper root of the services.
func (s *System) ZooKeeperRoot() string { return s.cfg.ZooKeeperRoot }

// Accounts returns the databases and users, with their passwords.
func (s *System) Accounts() migrations.Accounts { return s.cfg.Accounts }

// ServiceDSNs returns the DSNs of the services' users for their databases, past every Route.
func (s *System) ServiceDSNs() (order, stock string) {
	a, addr := s.cfg.Accounts, s.MySQL.Addr()
	return dsn(addr, a.OrderApp, a.OrderDB), dsn(addr, a.StockApp, a.StockDB)
}

// LoadtestEnv returns Target and Databases as the environment of the command loadtest.
func (s *System) LoadtestEnv() map[string]string {
	t, d := s.Target(), s.Databases()
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
	if budget := s.setting("CONFIRM_BUDGET", 0); budget > 0 {
		env["CONFIRM_BUDGET"] = budget.String()
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
