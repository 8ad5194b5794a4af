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

	"orderstock/loadtest/fire"
	"orderstock/loadtest/verify"
	"orderstock/migrations"
	"orderstock/pkg/mysqldb"
	"orderstock/pkg/servers"
	"orderstock/pkg/servers/programs"
)

// System is servers and, once started, the services on them. Its methods are for one goroutine; its parts are safe for
// several.
type System struct {
	*Servers
	// Dir is the folder of data and logs, and Bin the services' programs.
	Dir, Bin string
	// Orders and Stocks are the services; empty before StartServices.
	Orders, Stocks []*Service
	// Duplicators stand in front of the stock services, one for each.
	Duplicators []*Duplicator
	// OrderDB and StockDB reach the two databases as the administrator, past every proxy.
	OrderDB, StockDB *sql.DB

	scratch string // removed by Close; "" for none
	starts  int
	network *network // of a breakable cluster; else nil
	stack   *Stack   // the services; nil before StartServices

	// Of services that run already:
	attached   bool
	target     fire.Target
	databases  verify.Databases
	compose    *Compose
	containers []Process

	mu    sync.Mutex // guards wires, which services that start together ask for
	wires map[string]map[string][]*Wire
}

// Options configure Open. The zero value of a field means its default.
type Options struct {
	// Dir is the folder for data and logs. Default: a new one, which Close removes.
	Dir string
	// Bin is the folder for the services' programs, from the module's root. Default: bin, or if Breakable Dir/bin.
	Bin string
	// Breakable builds the services so that they can be broken.
	Breakable bool
	// Cluster starts several servers of each kind, so that any one may die (Servers.Cluster). It needs MySQL, not MariaDB.
	// A breakable one has no proxies between its parts, and needs Linux, root, and the program ip.
	Cluster bool
	// MySQL are options of the MySQL server, but for its folder.
	MySQL servers.Options
	// Progress, if not nil, gets a short description of each step.
	Progress func(doing string)

	built bool // Bin has the programs
}

// Open compiles the services and starts the servers.
func Open(ctx context.Context, o Options) (_ *System, err error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	s := &System{}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("open the system: %w", err), s.Close())
		}
	}()
	if o.Dir == "" {
		if s.scratch, err = os.MkdirTemp("", "orderstock-"); err != nil {
			return nil, err
		}
		o.Dir = s.scratch
	}
	if s.Dir, err = filepath.Abs(o.Dir); err != nil {
		return nil, err
	}
	o.Dir = s.Dir
	if err := o.Build(ctx); err != nil {
		return nil, err
	}
	s.Bin = o.Bin
	if err := s.startServers(ctx, o); err != nil {
		return nil, err
	}
	return s, s.openDBs()
}

// With opens a system, calls do with it, and stops it gracefully, also after ctx has ended.
func With(ctx context.Context, o Options, do func(*System) error) (err error) {
	s, err := Open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, Stopping(ctx, s.Stop)) }()
	return do(s)
}

// WithServices starts services on the system's servers, calls do with them, and stops them gracefully. cfg has their
// numbers, strategy, ports and environment.
func (s *System) WithServices(ctx context.Context, cfg Config, do func(*Stack) error) (err error) {
	cfg.Dir, cfg.Bin, cfg.Servers = s.Dir, s.Bin, s.Servers
	st, err := Up(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, Stopping(ctx, st.Stop)) }()
	return do(st)
}

// Stopping calls stop with a context of 40 s, also after ctx has ended.
func Stopping(ctx context.Context, stop func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 40*time.Second)
	defer cancel()
	return stop(ctx)
}

// Build compiles the services. Open does it, unless it was called before, for several systems.
func (o *Options) Build(ctx context.Context) error {
	if o.built {
		return nil
	}
	root, err := ModuleRoot()
	if err != nil {
		return err
	}
	if o.Bin == "" && o.Breakable {
		o.Bin = filepath.Join(o.Dir, "bin")
	}
	if o.Bin = cmp.Or(o.Bin, "bin"); !filepath.IsAbs(o.Bin) {
		o.Bin = filepath.Join(root, o.Bin)
	}
	to := programs.Source{Root: root, Bin: o.Bin, Progress: o.Progress}
	if o.Progress != nil {
		o.Progress("compiling the services into " + o.Bin)
	}
	if o.Breakable {
		to.Tags = []string{"faults"}
		if to.Overlay, err = Overlay(root, filepath.Join(o.Bin, "_overlay")); err != nil {
			return err
		}
	}
	err = programs.Compile(ctx, to, "order-service", "stock-service")
	o.built = err == nil
	return err
}

func (s *System) startServers(ctx context.Context, o Options) (err error) {
	if !o.Cluster {
		o.Progress("starting MySQL, Redis and ZooKeeper")
		s.Servers, err = StartServers(ctx, s.Dir, o.MySQL)
		return err
	}
	o.Progress("starting three MySQL, two Redis with three Sentinels, and three ZooKeeper")
	var member func(i int) servers.Options
	if o.Breakable {
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
func (s *System) CutOff(ctx context.Context, i int) error { return s.network.cut(ctx, i) }

// CutOn ends CutOff.
func (s *System) CutOn(ctx context.Context, i int) error { return s.network.mend(ctx, i) }

// openDBs opens the administrator's databases.
func (s *System) openDBs() (err error) {
	names := migrations.DefaultAccounts()
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
	return s.stack.Target()
}

// Databases returns the DSNs of the read-only user.
func (s *System) Databases() verify.Databases {
	if s.attached {
		return s.databases
	}
	return s.stack.Databases()
}

// Root returns the ZooKeeper root of the services.
func (s *System) Root() string { return fmt.Sprintf("/lab-%d", s.starts) }

// StartServices starts services on empty databases, an empty Redis and a new ZooKeeper root, and replaces the previous
// ones. cfg has their numbers, strategy and environment. A cluster has three stock services by default.
func (s *System) StartServices(ctx context.Context, cfg Config) error {
	s.StopServices()
	s.starts++
	if err := s.freshData(ctx); err != nil {
		return err
	}
	cfg.Dir, cfg.Bin, cfg.Servers, cfg.ZooKeeperRoot, cfg.Route = s.ServicesDir(), s.Bin, s.Servers, s.Root(), s.route
	for _, env := range []*map[string]string{&cfg.OrderEnv, &cfg.StockEnv} {
		all := map[string]string{"STOCK_SPREAD": "true"} // each stock service has work, and meets the faults
		maps.Copy(all, *env)
		all["FAULTPOINT_LOG"] = s.firedLog()
		*env = all
	}
	s.wires = map[string]map[string][]*Wire{}
	if s.Cluster != nil {
		cfg.Route, cfg.StockServices = nil, cmp.Or(cfg.StockServices, 3)
	}
	var err error
	s.stack, err = Up(ctx, cfg)
	if err != nil {
		return err
	}
	s.Orders, s.Stocks = s.stack.Order, s.stack.Stock
	for _, service := range s.Replicas() {
		service.Wires = s.wires[service.Name()]
	}
	return nil
}

// ServicesDir returns the folder of the running services' logs, or of a run's history if they run already; "" for none.
func (s *System) ServicesDir() string {
	if s.attached {
		return s.Dir
	}
	return filepath.Join(s.Dir, fmt.Sprintf("services-%03d", s.starts))
}

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

// StopServices kills the replicas and closes their wires. They need no graceful stop, since their data is discarded.
func (s *System) StopServices() {
	if s.stack != nil {
		_ = s.stack.Kill() // an error means that one was dead already
	}
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
	s.Orders, s.Stocks, s.Duplicators, s.wires, s.stack = nil, nil, nil, nil, nil
}

// KeepDir makes Close keep the folder.
func (s *System) KeepDir() { s.scratch = "" }

// Stop stops the servers gracefully, and then closes. Services that Up started are stopped before.
func (s *System) Stop(ctx context.Context) error {
	return errors.Join(s.Servers.Stop(ctx), s.Close())
}

// Close kills everything, and removes the folder that Open made.
func (s *System) Close() error {
	s.StopServices()
	var errs []error
	for _, db := range []*sql.DB{s.OrderDB, s.StockDB} {
		if db != nil {
			_ = db.Close() // an error says that a connection was lost before
		}
	}
	if s.Servers != nil && !s.attached {
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
