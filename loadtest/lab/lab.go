package lab

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/mutants/patch"
	"orderstock/loadtest/stack"
	"orderstock/loadtest/verify"
	"orderstock/migrations"
	"orderstock/pkg/compile"
	"orderstock/pkg/mysqldb"
)

// Lab is the servers and, once started, the services. Its methods are for one goroutine; its parts are safe for
// several.
type Lab struct {
	*stack.Servers
	// Orders and Stocks are the replicas; empty before StartServices.
	Orders, Stocks []*Replica
	// Duplicators stand in front of the stock services, one for each.
	Duplicators []*Duplicator
	// OrderDB and StockDB reach the two databases as the administrator, past every proxy.
	OrderDB, StockDB *sql.DB

	dir, bin string
	starts   int
	network  *network     // of a cluster; else nil
	stack    *stack.Stack // the services; nil before StartServices

	mu    sync.Mutex // guards wires, which services that start together ask for
	wires map[string]map[string][]*Wire
}

// Build compiles both services into the folder bin so that they can be broken: with the tag "faults", and with every
// mutant behind its switch. say, if not nil, is called with the progress.
func Build(ctx context.Context, bin string, say func(doing string)) error {
	root, err := stack.ModuleRoot()
	if err != nil {
		return err
	}
	overlay, err := patch.Overlay(root, filepath.Join(bin, "_overlay"))
	if err != nil {
		return err
	}
	options := compile.Options{Root: root, Bin: bin, Tags: []string{"faults"}, Overlay: overlay, Progress: say}
	return compile.Programs(ctx, options,
		"order-service", "stock-service")
}

// Start starts the three servers with their data in dir; the services' binaries are in bin.
func Start(ctx context.Context, dir, bin string) (*Lab, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("start lab: %w", err)
	}
	l := &Lab{dir: dir, bin: bin}
	if l.Servers, err = stack.StartServers(ctx, dir); err != nil {
		return nil, err
	}
	return l, l.openDBs()
}

// StartCluster is Start with several servers of each kind, so that any one may die (Servers.Cluster). There are no
// proxies between its parts. It needs Linux, root, and the program ip.
func StartCluster(ctx context.Context, dir, bin string) (*Lab, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("start lab: %w", err)
	}
	l := &Lab{dir: dir, bin: bin}
	if l.network, err = newNetwork(ctx, 3); err != nil {
		return nil, err
	}
	if l.Servers, err = stack.StartCluster(ctx, dir, l.network.options); err != nil {
		l.network.close(ctx)
		return nil, err
	}
	return l, l.openDBs()
}

// CutOff drops all packets between MySQL server i of a cluster and the other two. Clients
// still reach the server.
func (l *Lab) CutOff(ctx context.Context, i int) error { return l.network.cut(ctx, i) }

// CutOn ends CutOff.
func (l *Lab) CutOn(ctx context.Context, i int) error { return l.network.mend(ctx, i) }

// openDBs opens the administrator's databases; if it fails, everything is closed.
func (l *Lab) openDBs() (err error) {
	names := migrations.DefaultAccounts()
	for db, name := range map[**sql.DB]string{&l.OrderDB: names.OrderDB, &l.StockDB: names.StockDB} {
		if *db, err = OpenDB(l.MySQL.AdminDSNFor(name)); err != nil {
			return errors.Join(err, l.Close())
		}
	}
	return nil
}

// OpenDB opens a database whose connections may break on purpose: the driver does not log, errors are only returned.
func OpenDB(dsn string) (*sql.DB, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("read dsn: %w", err)
	}
	cfg.ParseTime, cfg.InterpolateParams = true, true
	cfg.Timeout, cfg.ReadTimeout = 2*time.Second, 20*time.Second
	cfg.Logger = &mysql.NopLogger{}
	connector, err := mysqldb.Connector(cfg, mysqldb.Options{LockWait: time.Minute, IdleTimeout: 8 * time.Hour})
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// Target returns the services' own addresses, without a proxy.
func (l *Lab) Target() fire.Target { return l.stack.Target() }

// Databases returns the DSNs of the read-only user.
func (l *Lab) Databases() verify.Databases { return l.stack.Databases() }

// Root returns the ZooKeeper root of the services.
func (l *Lab) Root() string { return fmt.Sprintf("/lab-%d", l.starts) }

// StartServices starts two replicas of each service on empty databases, an empty Redis and a new ZooKeeper root, and
// replaces the previous replicas. strategy is the stock services' deduction strategy, and env is added to both
// services' environment.
func (l *Lab) StartServices(ctx context.Context, strategy string, env map[string]string) error {
	l.StopServices()
	l.starts++
	if err := l.freshData(ctx); err != nil {
		return err
	}
	env = maps.Clone(env)
	if env == nil {
		env = map[string]string{}
	}
	env["FAULTPOINT_LOG"] = l.firedLog()
	if env["STOCK_SPREAD"] == "" {
		env["STOCK_SPREAD"] = "true" // each stock service has work, and meets the faults
	}
	l.wires = map[string]map[string][]*Wire{}
	cfg := stack.Config{
		Dir: l.ServicesDir(), Bin: l.bin, Servers: l.Servers, Route: l.route,
		OrderEnv: env, StockEnv: env, Strategy: strategy, ZooKeeperRoot: l.Root(),
	}
	if l.Cluster != nil {
		cfg.Route, cfg.StockServices = nil, 3
	}
	var err error
	l.stack, err = stack.Up(ctx, cfg)
	if err != nil {
		return err
	}
	l.Orders, l.Stocks = l.replicas(l.stack.Order), l.replicas(l.stack.Stock)
	return nil
}

// ServicesDir returns the folder of the running services' logs.
func (l *Lab) ServicesDir() string {
	return filepath.Join(l.dir, fmt.Sprintf("services-%03d", l.starts))
}

func (l *Lab) firedLog() string { return filepath.Join(l.dir, "fired.log") }

// route puts a wire between the service and each of the addresses that it calls.
func (l *Lab) route(service string, real stack.Addresses) (stack.Addresses, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var failed error
	via := func(to, upstream string) string {
		w, err := NewWire(service+"-"+to, upstream)
		if err != nil {
			failed = errors.Join(failed, err)
			return ""
		}
		if l.wires[service] == nil {
			l.wires[service] = map[string][]*Wire{}
		}
		l.wires[service][to] = append(l.wires[service][to], w)
		return w.Addr()
	}
	told := stack.Addresses{MySQL: via(ToMySQL, real.MySQL), Redis: via(ToRedis, real.Redis)}
	for _, addr := range real.ZooKeeper {
		told.ZooKeeper = append(told.ZooKeeper, via(ToZooKeeper, addr))
	}
	for i, addr := range real.Stock {
		if i == len(l.Duplicators) {
			d, err := newDuplicator(addr)
			if err != nil {
				return told, errors.Join(failed, err)
			}
			l.Duplicators = append(l.Duplicators, d)
		}
		told.Stock = append(told.Stock, via(ToStock, l.Duplicators[i].addr))
	}
	return told, failed
}

func (l *Lab) replicas(services []*stack.Service) []*Replica {
	var all []*Replica
	for _, s := range services {
		all = append(all, &Replica{Service: s, Wires: l.wires[s.Name()]})
	}
	return all
}

// freshData empties the databases and Redis.
func (l *Lab) freshData(ctx context.Context) error {
	names := migrations.DefaultAccounts()
	err := l.MySQL.Exec(ctx, "DROP DATABASE IF EXISTS "+names.OrderDB, "DROP DATABASE IF EXISTS "+names.StockDB)
	if err != nil {
		return fmt.Errorf("empty databases: %w", err)
	}
	_, err = l.FlushRedis(ctx)
	return err
}

// Replicas returns the replicas of both services.
func (l *Lab) Replicas() []*Replica {
	return append(append([]*Replica{}, l.Orders...), l.Stocks...)
}

// StopServices kills the replicas and closes their wires. They need no graceful stop, since their data is discarded.
func (l *Lab) StopServices() {
	if l.stack != nil {
		_ = l.stack.Kill() // an error means that one was dead already
	}
	for _, wires := range l.wires {
		for _, w := range wires {
			for _, w := range w {
				w.Close()
			}
		}
	}
	for _, d := range l.Duplicators {
		d.close()
	}
	l.Orders, l.Stocks, l.Duplicators, l.wires, l.stack = nil, nil, nil, nil, nil
}

// Close kills everything.
func (l *Lab) Close() error {
	l.StopServices()
	var errs []error
	for _, db := range []*sql.DB{l.OrderDB, l.StockDB} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	errs = append(errs, l.Kill())
	if l.network != nil {
		l.network.close(context.Background()) //nolint:forbidigo // a few quick commands, also after an interrupt
	}
	return errors.Join(errs...)
}
