package system

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"orderstock/loadtest/faultpoint"
	"orderstock/pkg/httpapi"
	"orderstock/pkg/servers"
	"orderstock/stock-service/deduct"
)

// Kind is one of the two services.
type Kind string

// The two services.
const (
	Order Kind = "order"
	Stock Kind = "stock"
)

// Service is one running order or stock service.
type Service struct {
	*servers.Server
	// Kind says which service it is.
	Kind Kind
	// OpsAddr is where it serves /metrics and /debug/pprof, as host:port.
	OpsAddr string
	// Wires lead from a breakable service: one to each server, and from an order service one to each stock service.
	Wires map[string][]*Wire

	env map[string]string
}

// URL returns the service's base address: "http://127.0.0.1:port".
func (s *Service) URL() string { return "http://" + s.Addr() }

// Env returns a copy of the environment that the service was started with.
func (s *Service) Env() map[string]string { return maps.Clone(s.env) }

// SetEnv sets variables of the environment from the next start on.
func (s *Service) SetEnv(env map[string]string) {
	maps.Copy(s.env, env)
	s.Server.SetEnv(Assignments(s.env))
}

// newService starts a service and waits until it is ready.
func (s *System) newService(ctx context.Context, kind Kind, index int) (*Service, error) {
	name := fmt.Sprintf("%s-%d", kind, index)
	ports := [2]int{}
	if index == 1 {
		ports[0] = map[Kind]int{Order: s.cfg.OrderPort, Stock: s.cfg.StockPort}[kind]
	}
	for i, want := range ports {
		port, err := servers.PortOr(want)
		if err != nil {
			return nil, fmt.Errorf("start %s: %w", name, err)
		}
		ports[i] = port
	}
	service := &Service{
		Kind:    kind,
		OpsAddr: fmt.Sprintf("127.0.0.1:%d", ports[1]),
	}
	addr := fmt.Sprintf("127.0.0.1:%d", ports[0])
	env, err := s.serviceEnv(name, kind)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	service.env = env
	service.env["LISTEN_ADDR"], service.env["OPS_ADDR"] = addr, service.OpsAddr
	args := []string{"serve"}
	if kind == Stock {
		if strategy, err := deduct.Find(s.cfg.Strategy); err == nil && strategy.Unsafe() {
			args = append(args, "--allow-unsafe")
		}
	}
	service.Server, err = servers.Start(ctx, servers.Spec{
		Name:  name,
		Path:  filepath.Join(cmp.Or(s.cfg.Build, s.cfg.Bin), string(kind)+"-service"),
		Args:  args,
		Env:   Assignments(service.env),
		Dir:   s.cfg.Dir,
		Addr:  addr,
		Ready: func(ctx context.Context) error { return httpapi.AskHealth(ctx, "http://"+addr+"/readyz") },
	})
	if err != nil {
		return nil, err
	}
	return service, nil
}

func (s *System) addresses() Addresses {
	return Addresses{
		MySQL:     s.MySQL.Addr(),
		Redis:     s.Redis.Addr(),
		ZooKeeper: strings.Split(s.ZooKeeper.Addr(), ","),
	}
}

// ServersEnv returns the environment that names the Redis and the ZooKeeper of the services, and their root there.
func (s *System) ServersEnv() map[string]string { return s.envOf(s.addresses()) }

func (s *System) envOf(at Addresses) map[string]string {
	env := map[string]string{
		"ZOOKEEPER_ADDRS": strings.Join(at.ZooKeeper, ","),
		"ZOOKEEPER_ROOT":  s.cfg.ZooKeeperRoot,
		"REDIS_ADDR":      at.Redis,
	}
	if s.Cluster != nil {
		env["REDIS_MASTER"] = servers.RedisMaster
	}
	return env
}

// serviceEnv returns the environment of a service, without its own addresses.
func (s *System) serviceEnv(name string, kind Kind) (map[string]string, error) {
	real := s.addresses()
	if kind == Order && (s.cfg.Route != nil || s.cfg.Build != "") {
		for _, stock := range s.Stocks {
			real.Stock = append(real.Stock, stock.Addr())
		}
	}
	told := real
	if s.cfg.Route != nil {
		var err error
		if told, err = s.cfg.Route(name, real); err != nil {
			return nil, fmt.Errorf("route addresses: %w", err)
		}
	}
	env := s.envOf(told)
	env["SERVICE_TOKEN"] = s.cfg.Token
	env["GOMAXPROCS"] = cmp.Or(os.Getenv("GOMAXPROCS"), strconv.Itoa(s.share(runtime.NumCPU())))
	// Spans show which replica they come from.
	env["OTEL_RESOURCE_ATTRIBUTES"] = "service.instance.id=" + name
	if s.cfg.StockEnv[faultpoint.LogEnv] != "" { // it is breakable
		env[faultpoint.EventsEnv] = filepath.Join(s.cfg.Dir, name+".events")
	}
	accounts := s.cfg.Accounts
	if kind == Stock {
		env["MYSQL_DSN"] = dsn(told.MySQL, accounts.StockApp, accounts.StockDB)
		env["STOCK_STRATEGY"] = s.cfg.Strategy
		maps.Copy(env, s.cfg.StockEnv)
		return env, nil
	}
	env["MYSQL_DSN"] = dsn(told.MySQL, accounts.OrderApp, accounts.OrderDB)
	env["TRUSTED_PROXIES"] = "127.0.0.0/8" // the load tester and the console, which trace orders
	if len(told.Stock) > 0 {               // otherwise they are found in ZooKeeper
		env["STOCK_URLS"] = "http://" + strings.Join(told.Stock, ",http://")
	}
	maps.Copy(env, s.cfg.OrderEnv)
	return env, nil
}

// share returns each service's share of the processors.
func (s *System) share(processors int) int {
	return max(1, processors/max(1, max(0, s.cfg.OrderServices)+max(0, s.cfg.StockServices)))
}
