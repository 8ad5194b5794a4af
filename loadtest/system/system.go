package system

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"orderstock/loadtest/faultpoint"
	"orderstock/loadtest/fire"
	"orderstock/loadtest/verify"
	"orderstock/migrations"
	"orderstock/pkg/mysqldb"
	"orderstock/pkg/servers"
	"orderstock/pkg/servers/programs"
)

// System is servers and the services on them. Its methods are for one goroutine; its parts are safe for several.
type System struct {
	*Servers
	// Dir is the folder of data and logs, and Bin the services' programs.
	Dir, Bin string
	// Orders and Stocks are the services; of a breakable system, empty before StartServices.
	Orders, Stocks []*Service
	// Duplicators stand in front of the stock services of a breakable system, one for each.
	Duplicators []*Duplicator
	// OrderDB and StockDB reach the two databases as the administrator, past every proxy.
	OrderDB, StockDB *sql.DB
	// Shaken is when the last known effect on the services of something that was broken ends; zero if nothing was. The
	// code that breaks something sets it, and StartServices clears it.
	Shaken time.Time

	cfg     Config   // of the services
	since   int64    // ZooKeeper's last transaction before the services were started
	owned   bool     // Open started the servers
	scratch string   // removed by Close; "" for none
	starts  int      // of services
	network *network // of a breakable cluster; else nil

	// Of services that run already:
	attached   bool
	target     fire.Target
	databases  verify.Databases
	compose    *compose
	containers []Process

	mu    sync.Mutex // guards wires, which services that start together ask for
	wires map[string]map[string][]*Wire
}

// Open starts a system: it compiles the services, starts the servers, makes the schemas, and starts the stock services
// and then the order services. It returns when all of them are ready. If something fails, it kills everything it has
// started; the error names the failed part and holds the end of its log. A breakable system begins without services:
// see StartServices.
func Open(ctx context.Context, cfg Config) (_ *System, err error) {
	s := &System{Servers: cfg.Servers}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("open the system: %w", err), s.Close())
		}
	}()
	if cfg.Dir == "" {
		if s.scratch, err = os.MkdirTemp("", "orderstock-"); err != nil {
			return nil, err
		}
		cfg.Dir = s.scratch
	}
	if s.Dir, err = filepath.Abs(cfg.Dir); err != nil {
		return nil, err
	}
	cfg.Dir = s.Dir
	if cfg.Build != "" {
		if cfg.Build, err = filepath.Abs(cfg.Build); err != nil {
			return nil, err
		}
	}
	if cfg = cfg.withDefaults(); s.Servers == nil {
		if err := cfg.Compile(ctx); err != nil {
			return nil, err
		}
		if err := s.startServers(ctx, cfg); err != nil {
			return nil, err
		}
	}
	s.Bin, s.cfg = cfg.Bin, cfg
	if err := s.openDBs(cfg.Accounts); err != nil || cfg.Breakable || cfg.OrderServices < 0 && cfg.StockServices < 0 {
		return s, err
	}
	return s, s.up(ctx)
}

// With opens a system, calls do with it, and stops it gracefully, also after ctx has ended.
func With(ctx context.Context, cfg Config, do func(*System) error) (err error) {
	s, err := Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, Stopping(ctx, s.Stop)) }()
	return do(s)
}

// Stopping calls stop with a context of 40 s, also after ctx has ended.
func Stopping(ctx context.Context, stop func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 40*time.Second)
	defer cancel()
	return stop(ctx)
}

// Compile compiles the services. Open does it, unless it was called before, for several systems, or there are servers.
func (c *Config) Compile(ctx context.Context) error {
	if c.compiled {
		return nil
	}
	root, err := ModuleRoot()
	if err != nil {
		return err
	}
	if c.Bin == "" && c.Breakable {
		c.Bin = filepath.Join(c.Dir, "bin")
	}
	if c.Bin = cmp.Or(c.Bin, "bin"); !filepath.IsAbs(c.Bin) {
		c.Bin = filepath.Join(root, c.Bin)
	}
	to := programs.Source{Root: root, Bin: c.Bin, Progress: c.Progress}
	if c.Progress != nil {
		c.Progress("compiling the services into " + c.Bin)
	}
	if c.Breakable {
		to.Tags = []string{"faults"}
		if to.Overlay, err = Overlay(root, filepath.Join(c.Bin, "_overlay")); err != nil {
			return err
		}
	}
	err = programs.Compile(ctx, to, "order-service", "stock-service")
	c.compiled = err == nil
	return err
}

func (s *System) startServers(ctx context.Context, c Config) (err error) {
	s.owned = true
	if !c.Cluster {
		c.Progress("starting MySQL, Redis and ZooKeeper")
		s.Servers, err = StartServers(ctx, s.Dir, c.MySQL)
		return err
	}
	c.Progress("starting three MySQL, two Redis with three Sentinels, and three ZooKeeper")
	var member func(i int) servers.Options
	if c.Breakable {
		if s.network, err = newNetwork(ctx, 3); err != nil {
			return err
		}
		member = s.network.options
	}
	s.Servers, err = StartCluster(ctx, s.Dir, member)
	return err
}

// CutOff drops all packets between MySQL server i of a breakable cluster and the other two. Clients still reach the
// server.
func (s *System) CutOff(ctx context.Context, i int) error { return s.network.routes(ctx, i, "add") }

// CutOn ends CutOff.
func (s *System) CutOn(ctx context.Context, i int) error { return s.network.routes(ctx, i, "del") }

// openDBs opens the administrator's databases.
func (s *System) openDBs(names migrations.Accounts) (err error) {
	for db, name := range map[**sql.DB]string{&s.OrderDB: names.OrderDB, &s.StockDB: names.StockDB} {
		if *db, err = OpenDB(s.MySQL.AdminDSNFor(name)); err != nil {
			return err
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
func (s *System) Target() fire.Target {
	if s.attached {
		return s.target
	}
	return fire.Target{
		OrderURLs: urls(s.Orders), StockURLs: urls(s.Stocks), StockToken: s.cfg.Token,
		CancelAfter: s.setting("CANCEL_AFTER", 0), PriceTTL: s.setting("PRICE_TTL", 0), Strategy: s.cfg.Strategy,
		StepLimit: min(s.setting("STOCK_TIMEOUT", 2*time.Second), s.setting("LOCK_TIMEOUT", 1500*time.Millisecond),
			s.setting("CONFIRM_BUDGET", 3*time.Second)),
	}
}

// SessionTimeout returns the timeout of the services' ZooKeeper sessions.
func (s *System) SessionTimeout() time.Duration {
	return s.setting("ZOOKEEPER_SESSION_TIMEOUT", 10*time.Second)
}

// setting returns a setting of the services that s has started, if it is not their default.
func (s *System) setting(name string, otherwise time.Duration) time.Duration {
	for _, env := range []map[string]string{s.cfg.OrderEnv, s.cfg.StockEnv} {
		if d, err := time.ParseDuration(env[name]); err == nil { // no service starts with a wrong one
			return d
		}
	}
	return otherwise
}

// Databases returns the databases for the verifier, with the DSNs of the read-only user.
func (s *System) Databases() verify.Databases {
	if s.attached {
		return s.databases
	}
	a := s.cfg.Accounts
	return verify.Databases{
		OrderDSN: dsn(s.MySQL.Addr(), a.Verifier, a.OrderDB),
		StockDSN: dsn(s.MySQL.Addr(), a.Verifier, a.StockDB),

		ZooKeeperAddrs: s.addresses().ZooKeeper, Since: s.since,
	}
}

// StartServices starts services on empty databases, an empty Redis and a new ZooKeeper root, and replaces the previous
// ones of a breakable system. cfg has their numbers, strategy and environment. A cluster has three stock services by
// default.
func (s *System) StartServices(ctx context.Context, cfg Config) error {
	s.KillServices()
	s.Shaken = time.Time{}
	s.starts++
	if err := s.freshData(ctx); err != nil {
		return err
	}
	cfg.Dir, cfg.Bin = filepath.Join(s.Dir, fmt.Sprintf("services-%03d", s.starts)), s.Bin
	cfg.ZooKeeperRoot, cfg.Route = fmt.Sprintf("/lab-%d", s.starts), s.route
	for _, env := range []*map[string]string{&cfg.OrderEnv, &cfg.StockEnv} {
		all := map[string]string{"STOCK_SPREAD": "true"} // each stock service has work, and meets the faults
		maps.Copy(all, *env)
		all[faultpoint.LogEnv] = s.firedLog()
		*env = all
	}
	s.wires = map[string]map[string][]*Wire{}
	if s.Cluster != nil {
		cfg.Route, cfg.StockServices = nil, cmp.Or(cfg.StockServices, 3)
	}
	s.cfg = cfg.withDefaults()
	if err := s.up(ctx); err != nil {
		s.KillServices()
		return err
	}
	for _, service := range s.Replicas() {
		service.Wires = s.wires[service.Name()]
	}
	return nil
}

// ServicesDir returns the folder of the logs of services that it has started.
func (s *System) ServicesDir() string { return s.cfg.Dir }

func (s *System) firedLog() string { return filepath.Join(s.Dir, "fired.log") }

// route puts a wire between the service and each of the addresses that it calls.
func (s *System) route(service string, real Addresses) (Addresses, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var failed error
	via := func(to, upstream string) string {
		w, err := NewWire(service+"-"+to, upstream)
		if err != nil {
			failed = errors.Join(failed, err)
			return ""
		}
		if s.wires[service] == nil {
			s.wires[service] = map[string][]*Wire{}
		}
		s.wires[service][to] = append(s.wires[service][to], w)
		return w.Addr()
	}
	told := Addresses{MySQL: via(ToMySQL, real.MySQL), Redis: via(ToRedis, real.Redis)}
	for _, addr := range real.ZooKeeper {
		told.ZooKeeper = append(told.ZooKeeper, via(ToZooKeeper, addr))
	}
	for i, addr := range real.Stock {
		if i == len(s.Duplicators) {
			d, err := newDuplicator(addr)
			if err != nil {
				return told, errors.Join(failed, err)
			}
			s.Duplicators = append(s.Duplicators, d)
		}
		told.Stock = append(told.Stock, via(ToStock, s.Duplicators[i].addr))
	}
	return told, failed
}

// freshData empties the databases and Redis.
func (s *System) freshData(ctx context.Context) error {
	names := migrations.DefaultAccounts()
	err := s.MySQL.Exec(ctx, "DROP DATABASE IF EXISTS "+names.OrderDB, "DROP DATABASE IF EXISTS "+names.StockDB)
	if err != nil {
		return fmt.Errorf("empty databases: %w", err)
	}
	_, err = s.FlushRedis(ctx)
	return err
}

// Replicas returns the replicas of both services.
func (s *System) Replicas() []*Service { return slices.Concat(s.Orders, s.Stocks) }

// KillServices kills the replicas and closes their wires.
func (s *System) KillServices() {
	_ = fleet(s.Replicas()).Kill() // an error means that one was dead already
	for _, wires := range s.wires {
		for _, w := range wires {
			for _, w := range w {
				w.Close()
			}
		}
	}
	for _, d := range s.Duplicators {
		d.close()
	}
	s.Orders, s.Stocks, s.Duplicators, s.wires = nil, nil, nil, nil
}

// KeepDir makes Close keep the folder.
func (s *System) KeepDir() { s.scratch = "" }

// Stop stops the order services, then the stock services, then the servers that Open started, each gracefully, and
// closes. All are stopped, even if one fails. The ones still running when ctx ends are killed.
func (s *System) Stop(ctx context.Context) error {
	errs := []error{fleet(s.Orders).Stop(ctx), fleet(s.Stocks).Stop(ctx)}
	if s.owned {
		errs = append(errs, s.Servers.Stop(ctx))
	}
	return errors.Join(append(errs, s.Close())...)
}

// Close kills all that Open and StartServices started, and removes the folder that Open made.
func (s *System) Close() error {
	s.KillServices()
	var errs []error
	for _, db := range []*sql.DB{s.OrderDB, s.StockDB} {
		if db != nil {
			_ = db.Close() // an error says that a connection was lost before
		}
	}
	if s.owned && s.Servers != nil {
		errs = append(errs, s.Kill())
	}
	if s.network != nil {
		s.network.close(context.Background()) //nolint:forbidigo // a few quick commands, also after an interrupt
	}
	if s.scratch != "" {
		errs = append(errs, os.RemoveAll(s.scratch))
	}
	return errors.Join(errs...)
}
