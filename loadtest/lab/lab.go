package lab

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"orderstock/migrations"
	"orderstock/pkg/servers"
)

// StockToken is the stock service's bearer token.
const StockToken = "lab"

// Lab is the servers and, once started, the services. Its methods are for one
// goroutine; those of its parts are safe for several.
type Lab struct {
	MySQL     *servers.MySQL
	Redis     *servers.Redis
	ZooKeeper *servers.ZooKeeper
	// Orders and Stocks are the replicas; empty before StartServices.
	Orders, Stocks []*Replica
	// Duplicators stand in front of the stock services, one for each.
	Duplicators []*Duplicator
	// OrderDB and StockDB read the two databases as the administrator, past every proxy.
	OrderDB, StockDB *sql.DB

	dir      string
	bins     Binaries
	accounts migrations.Accounts
	starts   int
}

// Start starts the three servers with their data in dir.
func Start(ctx context.Context, dir string, bins Binaries) (*Lab, error) {
	l := &Lab{dir: dir, bins: bins, accounts: migrations.DefaultAccounts()}
	for _, u := range []*migrations.User{&l.accounts.OrderApp, &l.accounts.StockApp, &l.accounts.Migrator, &l.accounts.Verifier} {
		u.Password = "lab"
	}
	var (
		started sync.WaitGroup
		errs    [3]error
	)
	started.Go(func() { l.MySQL, errs[0] = servers.StartMySQL(ctx, filepath.Join(dir, "mysql")) })
	started.Go(func() { l.Redis, errs[1] = servers.StartRedis(ctx, filepath.Join(dir, "redis")) })
	started.Go(func() { l.ZooKeeper, errs[2] = servers.StartZooKeeper(ctx, filepath.Join(dir, "zookeeper")) })
	started.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return nil, errors.Join(err, l.Close(ctx))
	}
	for db, name := range map[**sql.DB]string{&l.OrderDB: l.accounts.OrderDB, &l.StockDB: l.accounts.StockDB} {
		cfg, err := mysql.ParseDSN(l.MySQL.AdminDSNFor(name))
		if err != nil {
			return nil, errors.Join(err, l.Close(ctx))
		}
		cfg.ParseTime, cfg.Timeout, cfg.ReadTimeout = true, 2*time.Second, 20*time.Second
		connector, err := mysql.NewConnector(cfg)
		if err != nil {
			return nil, errors.Join(err, l.Close(ctx))
		}
		*db = sql.OpenDB(connector)
	}
	return l, nil
}

// VerifierDSNs are those of the read-only user for the order's and the stock's database.
func (l *Lab) VerifierDSNs() (order, stock string) {
	v := l.accounts.Verifier
	return l.MySQL.DSN(v.Name, v.Password, l.accounts.OrderDB), l.MySQL.DSN(v.Name, v.Password, l.accounts.StockDB)
}

// StartServices starts two replicas of each service on empty databases, an
// empty Redis and a ZooKeeper root of their own, in place of those that ran
// before. env is added to both services' environment.
func (l *Lab) StartServices(ctx context.Context, env ...string) error {
	l.StopServices()
	l.starts++
	if err := l.freshData(ctx); err != nil {
		return err
	}
	dir := filepath.Join(l.dir, fmt.Sprintf("services-%03d", l.starts))
	env = append([]string{
		"SERVICE_TOKEN=" + StockToken, fmt.Sprintf("ZOOKEEPER_ROOT=/lab-%d", l.starts), "LOG_LEVEL=info", "SHUTDOWN_TIMEOUT=5s",
	}, env...)
	for i := range 2 {
		r, err := l.start(ctx, service{name: fmt.Sprint("stock-", i), bin: l.bins.Stock, dir: dir, env: env}, l.accounts.StockApp, l.accounts.StockDB)
		if err != nil {
			return err
		}
		l.Stocks = append(l.Stocks, r)
		d, err := newDuplicator(ctx, r.Addr())
		if err != nil {
			return err
		}
		l.Duplicators = append(l.Duplicators, d)
	}
	for i := range 2 {
		r, err := l.start(ctx, service{name: fmt.Sprint("order-", i), bin: l.bins.Order, dir: dir, env: env}, l.accounts.OrderApp, l.accounts.OrderDB)
		if err != nil {
			return err
		}
		l.Orders = append(l.Orders, r)
	}
	return nil
}

// start wires one replica up and starts it.
func (l *Lab) start(ctx context.Context, s service, user migrations.User, database string) (*Replica, error) {
	s.wires = map[string][]*Wire{}
	wire := func(to, upstream string) (string, error) {
		w, err := newWire(s.name+"-"+to, upstream)
		if err != nil {
			return "", err
		}
		s.wires[to] = append(s.wires[to], w)
		return w.Addr(), nil
	}
	db, err := wire(ToMySQL, l.MySQL.Addr())
	if err != nil {
		return nil, err
	}
	redis, err := wire(ToRedis, l.Redis.Addr())
	if err != nil {
		return nil, err
	}
	zk, err := wire(ToZooKeeper, l.ZooKeeper.Addr())
	if err != nil {
		return nil, err
	}
	cfg := mysql.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr, cfg.DBName = user.Name, user.Password, "tcp", db, database
	s.env = append(s.env[:len(s.env):len(s.env)], "MYSQL_DSN="+cfg.FormatDSN(), "REDIS_ADDR="+redis, "ZOOKEEPER_ADDRS="+zk)
	if s.bin == l.bins.Order {
		urls := ""
		for i, d := range l.Duplicators {
			addr, err := wire(ToStock, d.addr)
			if err != nil {
				return nil, err
			}
			if i > 0 {
				urls += ","
			}
			urls += "http://" + addr
		}
		s.env = append(s.env, "STOCK_URLS="+urls)
	}
	return startReplica(ctx, s)
}

// freshData empties the databases and Redis.
func (l *Lab) freshData(ctx context.Context) error {
	err := l.MySQL.Exec(ctx, "DROP DATABASE IF EXISTS "+l.accounts.OrderDB, "DROP DATABASE IF EXISTS "+l.accounts.StockDB)
	if err != nil {
		return fmt.Errorf("empty databases: %w", err)
	}
	if err := migrations.Run(ctx, migrations.Config{AdminDSN: l.MySQL.AdminDSN(), Accounts: l.accounts}); err != nil {
		return err
	}
	_, err = l.FlushRedis(ctx)
	return err
}

// Replicas returns those of both services.
func (l *Lab) Replicas() []*Replica {
	return append(append([]*Replica{}, l.Orders...), l.Stocks...)
}

// OrderURLs are the order services' own addresses, without a proxy.
func (l *Lab) OrderURLs() []string { return urls(l.Orders) }

// StockURLs are the stock services' own addresses, without a proxy.
func (l *Lab) StockURLs() []string { return urls(l.Stocks) }

func urls(replicas []*Replica) []string {
	all := make([]string, len(replicas))
	for i, r := range replicas {
		all[i] = r.URL
	}
	return all
}

// StopServices kills the replicas and ends their wires.
func (l *Lab) StopServices() {
	for _, r := range l.Replicas() {
		_ = r.Kill() // an error says that it is dead already
		for _, wires := range r.Wires {
			for _, w := range wires {
				w.close()
			}
		}
	}
	for _, d := range l.Duplicators {
		d.close()
	}
	l.Orders, l.Stocks, l.Duplicators = nil, nil, nil
}

// Close stops everything.
func (l *Lab) Close(ctx context.Context) error {
	l.StopServices()
	var errs []error
	for _, db := range []*sql.DB{l.OrderDB, l.StockDB} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	// What they hold is thrown away: no need for a graceful stop.
	if l.MySQL != nil {
		errs = append(errs, l.MySQL.Kill())
	}
	if l.Redis != nil {
		errs = append(errs, l.Redis.Kill())
	}
	if l.ZooKeeper != nil {
		errs = append(errs, l.ZooKeeper.Kill())
	}
	return errors.Join(errs...)
}
