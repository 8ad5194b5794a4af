package system_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"orderstock/loadtest/system"
	"orderstock/loadtest/system/systemtest"
	"orderstock/order-service/orderhttp"
	"orderstock/pkg/httpapi/contracttest"
	"orderstock/stock-service/stockhttp"
)

// TestUpKillPauseRestartStop takes a stack on shared servers through its life.
func TestUpKillPauseRestartStop(t *testing.T) {
	t.Parallel()
	var (
		mu     sync.Mutex
		routed = map[string]system.Addresses{}
	)
	cfg := config(t)
	cfg.OrderServices, cfg.StockServices = 1, 2
	cfg.StockEnv = map[string]string{"LOG_LEVEL": "warn"}
	cfg.Route = func(service string, real system.Addresses) (system.Addresses, error) {
		mu.Lock()
		defer mu.Unlock()
		routed[service] = real
		return real, nil
	}
	st := systemtest.Start(t, cfg)
	if len(st.Orders) != 1 || len(st.Stocks) != 2 || len(st.Dead()) != 0 {
		t.Fatalf("%d order and %d stock services, dead: %v; want 1, 2 and none", len(st.Orders), len(st.Stocks), st.Dead())
	}
	if got := routed["order-1"].Stock; len(got) != 2 || got[0] == got[1] {
		t.Errorf("the order service got stock services %v; want both", got)
	}
	if len(routed) != 3 || routed["stock-2"].MySQL != st.MySQL.Addr() || routed["stock-2"].Stock != nil {
		t.Errorf("routed: %v", routed)
	}
	for url, want := range map[string]int{
		st.Orders[0].URL() + "/healthz":               http.StatusOK,
		"http://" + st.Orders[0].OpsAddr + "/metrics": http.StatusOK,
		st.Stocks[1].URL() + "/v1/stock":              http.StatusUnauthorized,
	} {
		if code, err := get(t.Context(), t, url, ""); err != nil || code != want {
			t.Errorf("%s answers %d, %v; want %d", url, code, err, want)
		}
	}

	metrics, err := st.Orders[0].Metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n, share := metrics["go_sched_gomaxprocs_threads"], max(1, runtime.NumCPU()/3); n != float64(share) {
		t.Errorf("one of three services uses %v processors of %d; want %d", n, runtime.NumCPU(), share)
	}

	victim := st.Stocks[0]
	if err := victim.Kill(); err != nil {
		t.Fatal(err)
	}
	if dead := st.Dead(); len(dead) != 1 || dead[0] != victim.Server {
		t.Errorf("dead after a kill: %v; want stock-1", dead)
	}
	victim.SetEnv(map[string]string{"LOG_LEVEL": "info"})
	if strings.Contains(logOf(t, victim), `"listening"`) {
		t.Error("with LOG_LEVEL=warn the log holds a line of level info")
	}
	if err := victim.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(logOf(t, victim), `"listening"`) {
		t.Error("SetEnv did not change the environment of the next start")
	}
	code, err := get(t.Context(), t, victim.URL()+"/v1/stock", st.Target().StockToken)
	if err != nil || code != http.StatusOK {
		t.Errorf("a restarted service answers %d, %v; want 200", code, err)
	}

	if err := victim.Pause(); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := get(short, t, victim.URL()+"/healthz", ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a paused service: %v; want no answer", err)
	}
	if err := victim.Resume(); err != nil {
		t.Fatal(err)
	}
	if code, err := get(t.Context(), t, victim.URL()+"/healthz", ""); err != nil || code != http.StatusOK {
		t.Errorf("a resumed service answers %d, %v; want 200", code, err)
	}

	services := st.Replicas()
	if err := st.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	for _, s := range services {
		if s.Running() {
			t.Errorf("%s runs after Stop", s.Name())
		}
	}
	if err := st.MySQL.Ping(t.Context()); err != nil {
		t.Errorf("Stop took a server along that was given: %v", err)
	}
}

// A shell may still have the settings of another stack, as README's ". .run/env" leaves them.
func TestSettingsOfAnotherStackAreNotPassedOn(t *testing.T) {
	for name, value := range map[string]string{
		"STOCK_URLS": "http://127.0.0.1:1", "REDIS_MASTER": "gone", "MAX_IN_FLIGHT": "none",
	} {
		t.Setenv(name, value)
	}
	st := systemtest.Start(t, config(t))
	send(t, st, "POST", st.Stocks[0].URL()+"/v1/stock/1/restock", `{"flag":"first","num":5}`)
	send(t, st, "POST", st.Orders[0].URL()+"/v1/orders", `{"items":[{"goods_id":"1","num":1}]}`)
}

func TestOpen(t *testing.T) {
	t.Parallel()
	var told []string
	say := func(doing string) { told = append(told, doing) }
	st, err := system.Open(t.Context(), system.Config{
		Bin: systemtest.Build(t), OrderServices: 1, StockServices: 1, Progress: say,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	if len(told) < 4 {
		t.Errorf("progress: %q; want a line for programs, servers, tables and services", told)
	}
	env := st.LoadtestEnv()
	if env["ORDER_URLS"] != st.Orders[0].URL() || env["STOCK_URLS"] != st.Stocks[0].URL() || env["SERVICE_TOKEN"] == "" ||
		!strings.Contains(env["VERIFY_STOCK_DSN"], "/stock_db") {
		t.Errorf("environment of the load tester: %v", env)
	}
	env = st.ServersEnv()
	if env["REDIS_ADDR"] != st.Redis.Addr() || env["ZOOKEEPER_ADDRS"] != st.ZooKeeper.Addr() ||
		env["ZOOKEEPER_ROOT"] != st.ZooKeeperRoot() || env["REDIS_MASTER"] != "" {
		t.Errorf("environment that names the servers: %v", env)
	}
	services := st.Replicas()
	if err := st.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if dead := st.Dead(); len(dead) != 3 || services[0].Running() || services[1].Running() {
		t.Errorf("dead after Stop: %v; want the 2 services and the 3 servers", dead)
	}
	if _, err := os.Stat(st.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder that Open made is there after Stop: %v", err)
	}
}

func TestUpFailsWithTheServicesOwnWords(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	cfg.StockEnv = map[string]string{"STOCK_STRATEGY": "guesswork"} // wins over Config.Strategy, which would be refused
	_, err := system.Open(t.Context(), cfg)
	if err == nil || !strings.Contains(err.Error(), "stock-1") || !strings.Contains(err.Error(), "guesswork") {
		t.Errorf("error %v; want the end of stock-1's log", err)
	}
}

// config returns the configuration of a stack of one service of each kind.
func config(t *testing.T) system.Config {
	t.Helper()
	cfg := systemtest.Config(t, systemtest.Build(t))
	cfg.OrderServices, cfg.StockServices = 1, 1
	return cfg
}

// described returns a client whose answers must match the service's description. Metrics have none.
func described(t *testing.T, next http.RoundTripper) *http.Client {
	t.Helper()
	order := contracttest.Read(t, orderhttp.OpenAPI).Transport(t, next)
	stock := contracttest.Read(t, stockhttp.OpenAPI).Transport(t, next)
	return &http.Client{Timeout: 20 * time.Second, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		switch {
		case r.URL.Path == "/metrics":
			return next.RoundTrip(r)
		case strings.HasPrefix(r.URL.Path, "/v1/orders"):
			return order.RoundTrip(r)
		}
		return stock.RoundTrip(r)
	})}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func get(ctx context.Context, t *testing.T, url, token string) (code int, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := described(t, http.DefaultTransport).Do(req)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

func logOf(t *testing.T, s *system.Service) string {
	t.Helper()
	text, err := os.ReadFile(s.LogPath())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
