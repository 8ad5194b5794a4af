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
	s.Server.SetEnv(list(s.env))
}

// newService starts a service and waits until it is ready.
func (st *Stack) newService(ctx context.Context, kind Kind, index int) (*Service, error) {
	name := fmt.Sprintf("%s-%d", kind, index)
	ports := [2]int{}
	if index == 1 {
		ports[0] = map[Kind]int{Order: st.cfg.OrderPort, Stock: st.cfg.StockPort}[kind]
	}
	for i, want := range ports {
		port, err := servers.PortOr(want)
		if err != nil {
			return nil, fmt.Errorf("start %s: %w", name, err)
		}
		ports[i] = port
	}
	s := &Service{
		Kind:    kind,
		OpsAddr: fmt.Sprintf("127.0.0.1:%d", ports[1]),
	}
	addr := fmt.Sprintf("127.0.0.1:%d", ports[0])
	env, err := st.serviceEnv(name, kind)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	s.env = env
	s.env["LISTEN_ADDR"], s.env["OPS_ADDR"] = addr, s.OpsAddr
	args := []string{"serve"}
	if kind == Stock {
		if s, err := deduct.Find(st.cfg.Strategy); err == nil && s.Unsafe() {
			args = append(args, "--allow-unsafe")
		}
	}
	s.Server, err = servers.Start(ctx, servers.Spec{
		Name:  name,
		Path:  filepath.Join(st.cfg.Bin, string(kind)+"-service"),
		Args:  args,
		Env:   list(s.env),
		Dir:   st.cfg.Dir,
		Addr:  addr,
		Ready: func(ctx context.Context) error { return httpapi.AskHealth(ctx, "http://"+addr+"/readyz") },
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (st *Stack) addresses() Addresses {
	return Addresses{
		MySQL:     st.Servers.MySQL.Addr(),
		Redis:     st.Servers.Redis.Addr(),
		ZooKeeper: strings.Split(st.Servers.ZooKeeper.Addr(), ","),
	}
}

// ServersEnv returns the environment that names the Redis and the ZooKeeper of the services, and their root there.
func (st *Stack) ServersEnv() map[string]string { return st.envOf(st.addresses()) }

func (st *Stack) envOf(at Addresses) map[string]string {
	env := map[string]string{
		"ZOOKEEPER_ADDRS": strings.Join(at.ZooKeeper, ","),
		"ZOOKEEPER_ROOT":  st.cfg.ZooKeeperRoot,
		"REDIS_ADDR":      at.Redis,
	}
	if st.Servers.Cluster != nil {
		env["REDIS_MASTER"] = servers.RedisMaster
	}
	return env
}

// serviceEnv returns the environment of a service, without its own addresses.
func (st *Stack) serviceEnv(name string, kind Kind) (map[string]string, error) {
	real := st.addresses()
	if kind == Order && (st.cfg.Route != nil || st.cfg.Build != "") {
		for _, s := range st.Stock {
			real.Stock = append(real.Stock, s.Addr())
		}
	}
	told := real
	if st.cfg.Route != nil {
		var err error
		if told, err = st.cfg.Route(name, real); err != nil {
			return nil, fmt.Errorf("route addresses: %w", err)
		}
	}
	env := st.envOf(told)
	env["SERVICE_TOKEN"] = st.cfg.Token
	env["GOMAXPROCS"] = cmp.Or(os.Getenv("GOMAXPROCS"), strconv.Itoa(st.share(runtime.NumCPU())))
	// Spans show which replica they come from.
	env["OTEL_RESOURCE_ATTRIBUTES"] = "service.instance.id=" + name
	accounts := st.cfg.Accounts
	if kind == Stock {
		env["MYSQL_DSN"] = dsn(told.MySQL, accounts.StockApp, accounts.StockDB)
		env["STOCK_STRATEGY"] = st.cfg.Strategy
		maps.Copy(env, st.cfg.StockEnv)
		return env, nil
	}
	env["MYSQL_DSN"] = dsn(told.MySQL, accounts.OrderApp, accounts.OrderDB)
	env["TRUSTED_PROXIES"] = "127.0.0.0/8" // the load tester and the console, which trace orders
	if len(told.Stock) > 0 {               // otherwise they are found in ZooKeeper
		env["STOCK_URLS"] = "http://" + strings.Join(told.Stock, ",http://")
	}
	maps.Copy(env, st.cfg.OrderEnv)
	return env, nil
}

// share returns each service's share of the processors.
func (st *Stack) share(processors int) int {
	return max(1, processors/max(1, max(0, st.cfg.OrderServices)+max(0, st.cfg.StockServices)))
}
