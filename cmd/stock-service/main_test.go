package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/caarlos0/env/v11"

	"orderstock/migrations"
	"orderstock/pkg/command"
	"orderstock/pkg/httpapi/contracttest"
	"orderstock/pkg/operation"
	"orderstock/pkg/servers"
	"orderstock/pkg/servers/serverstest"
	"orderstock/pkg/service"
	"orderstock/pkg/stockapi"
	"orderstock/stock-service/deduct"
	"orderstock/stock-service/deduct/compared"
	"orderstock/stock-service/stockhttp"
)

// settingsFor returns the settings of a service on the test's servers, with a separate database.
func settingsFor(t *testing.T, strategy string) settings {
	t.Helper()
	dsn := serverstest.Database(t)
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(migrations.Up(t.Context(), db, migrations.Stock), db.Close()); err != nil {
		t.Fatal(err)
	}
	cfg, err := env.ParseAsWithOptions[settings](env.Options{Environment: map[string]string{
		"LISTEN_ADDR": "127.0.0.1:0", "SERVICE_TOKEN": "sesame-of-the-test", "MYSQL_DSN": dsn, "LOG_LEVEL": "ERROR",
		"REDIS_ADDR": serverstest.Redis(t).Addr(), "ZOOKEEPER_ADDRS": serverstest.ZooKeeper(t).Addr(),
		"ZOOKEEPER_ROOT": serverstest.ZooKeeperRoot(t), "STOCK_STRATEGY": strategy,
	}})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// start runs the service and returns once it is ready. Stop ends it; ended receives what run returned.
func start(t *testing.T, cfg settings) (base string, stop context.CancelFunc, ended <-chan error) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	addrs, end := make(chan string, 1), make(chan error, 1)
	go func() { end <- run(ctx, cfg, func(addr string) { addrs <- addr }) }()
	select {
	case addr := <-addrs:
		base = "http://" + addr
	case err := <-end:
		t.Fatal(err)
	}
	awaitReady(t, base, http.StatusOK, `{"status":"ready"}`)
	return base, stop, end
}

// awaitReady waits until /readyz answers so, and fails if one answer takes long.
func awaitReady(t *testing.T, base string, status int, body string) {
	t.Helper()
	client := http.Client{Transport: contracttest.Read(t, stockhttp.OpenAPI).Transport(t, http.DefaultTransport)}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		asked := time.Now()
		resp, err := client.Get(base + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if took := time.Since(asked); err != nil || took > 10*time.Second {
			t.Errorf("/readyz took %v (%v): %s", took, err, got)
		}
		if resp.StatusCode == status && string(got) == body {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("/readyz answers %d %s; want %d %s", resp.StatusCode, got, status, body)
		}
	}
}

// TestReady: without Redis the service is degraded, and ready. So it is without ZooKeeper if its strategy
// works without, and it says so soon, although ZooKeeper does not answer.
func TestReady(t *testing.T) {
	for name, without := range map[string]struct {
		status int
		body   string
	}{
		"grouped":    {http.StatusOK, `{"status":"degraded","failing":["redis","strategy"]}`},
		"sequential": {http.StatusServiceUnavailable, `{"status":"not ready","failing":["redis","strategy"]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testReady(t, name, without.status, without.body)
		})
	}
}

// testReady expects the given answer of a service with neither Redis nor ZooKeeper.
func testReady(t *testing.T, strategy string, status int, body string) {
	cfg := settingsFor(t, strategy)
	redis := serverstest.Start(t, servers.StartRedis, servers.Options{})
	zookeeper := serverstest.Start(t, servers.StartZooKeeper, servers.Options{})
	cfg.RedisAddrs, cfg.ZooKeeperAddrs = []string{redis.Addr()}, []string{zookeeper.Addr()}
	cfg.SessionTimeout = 30 * time.Second

	base, stop, ended := start(t, cfg)
	if err := redis.Kill(); err != nil {
		t.Fatal(err)
	}
	awaitReady(t, base, http.StatusOK, `{"status":"degraded","failing":["redis"]}`)
	if err := zookeeper.Pause(); err != nil {
		t.Fatal(err)
	}
	awaitReady(t, base, status, body)
	if err := zookeeper.Resume(); err != nil {
		t.Fatal(err)
	}
	awaitReady(t, base, http.StatusOK, `{"status":"degraded","failing":["redis"]}`)
	stop()
	if err := <-ended; err != nil {
		t.Errorf("stop: %v", err)
	}
}

// TestATableThatIsGoneIsNotReady: no order can succeed, until the table is back.
func TestATableThatIsGoneIsNotReady(t *testing.T) {
	t.Parallel()
	cfg := settingsFor(t, deduct.Default)
	base, stop, ended := start(t, cfg)
	db, err := sql.Open("mysql", string(cfg.MySQLDSN))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, c := range []struct {
		statement, answer string
		status            int
	}{
		{"RENAME TABLE stock_flow TO away", `{"status":"not ready","failing":["mysql"]}`, http.StatusServiceUnavailable},
		{"RENAME TABLE away TO stock_flow", `{"status":"ready"}`, http.StatusOK},
	} {
		if _, err := db.ExecContext(t.Context(), c.statement); err != nil {
			t.Fatal(err)
		}
		awaitReady(t, base, c.status, c.answer)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("stop: %v", err)
	}
}

// TestServesAndStops runs the whole program, and stops it while deductions are
// on their way: each is answered.
func TestServesAndStops(t *testing.T) {
	cfg := settingsFor(t, deduct.Default)
	base, stop, ended := start(t, cfg)
	client, err := stockapi.NewClient([]string{base},
		stockapi.Config{Token: "sesame-of-the-test", Tries: 1, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Restock(t.Context(), operation.Restock{GoodsID: 1001, Flag: "restock", Num: 1000}); err != nil {
		t.Fatal(err)
	}
	const crowd = 40
	answers, sent := make(chan error, crowd), make(chan struct{}, crowd)
	for i := range crowd {
		go func() {
			sent <- struct{}{}
			one := []operation.Item{{GoodsID: 1001, Num: 1}}
			op, err := client.Deduct(context.WithoutCancel(t.Context()), fmt.Sprint("flag-", i), one)
			if err == nil && op.State != operation.Done {
				err = fmt.Errorf("state %s", op.State)
			}
			answers <- err
		}()
	}
	for range crowd {
		<-sent
	}
	first := <-answers
	stop()
	done := 0
	for i := range crowd {
		err := first
		if i > 0 {
			err = <-answers
		}
		switch {
		case err == nil:
			done++
		case !strings.Contains(err.Error(), "refused") && !strings.Contains(err.Error(), "EOF") &&
			!strings.Contains(err.Error(), "reset") && !strings.Contains(err.Error(), "broken pipe") &&
			!strings.Contains(err.Error(), "server closed idle connection"):
			t.Errorf("cut short: %v", err) // deductions that came too late to be let in were not cut
		}
	}
	if err := <-ended; err != nil {
		t.Errorf("stop: %v", err)
	}
	base, _, _ = start(t, cfg)
	again, err := stockapi.NewClient([]string{base}, stockapi.Config{Token: "sesame-of-the-test", Tries: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	goods, err := again.Stock(t.Context(), 1001)
	if err != nil || len(goods) != 1 || goods[0].Num != int64(1000-done) || done == 0 {
		t.Errorf("%d answered as done, of 1000 are left: %+v, %v", done, goods, err)
	}
}

// TestFlowsOfTheMostAndLongestFlags fit into a request.
func TestFlowsOfTheMostAndLongestFlags(t *testing.T) {
	base, _, _ := start(t, settingsFor(t, "conditional-update"))
	client, err := stockapi.NewClient([]string{base}, stockapi.Config{Token: "sesame-of-the-test", Tries: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	flags := make([]string, 500)
	for i := range flags {
		flags[i] = fmt.Sprintf("%064d", i)
	}
	if _, err := client.Flows(t.Context(), flags...); err != nil {
		t.Error(err)
	}
}

func TestInvalidSettingsAreRefused(t *testing.T) {
	if err := run(t.Context(), settingsFor(t, "unsafe"), nil); !errors.Is(err, compared.ErrUnsafe) {
		t.Errorf("started without --allow-unsafe: %v", err)
	}
	bad := settingsFor(t, "nonsense")
	if err := bad.Check(); err == nil || !strings.Contains(err.Error(), "grouped") {
		t.Errorf("unknown strategy: %v; want the names of the strategies", err)
	}
	lost := settingsFor(t, "grouped")
	lost.AdvertiseAddr = "stock-1:99999"
	const want = "ADVERTISE_ADDR (stock-1:99999) must be host:port"
	if err := lost.Check(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("announced at a port that cannot be: %v", err)
	}
	large := settingsFor(t, "grouped")
	large.MaxGroup = 257
	if err := large.Check(); err == nil || !strings.Contains(err.Error(), "STOCK_GROUP (257) must be from 1 to 256") {
		t.Errorf("groups of 257: %v", err)
	}
}

// TestCheckFindsAStrategyThatIsNotPermitted, as serve does: both exit with 64.
func TestCheckFindsAStrategyThatIsNotPermitted(t *testing.T) {
	for name, value := range map[string]string{
		"MYSQL_DSN": "stock_app:hush@tcp(db)/stock", "ZOOKEEPER_ADDRS": "zookeeper:2181", "REDIS_ADDR": "redis:6379",
		"SERVICE_TOKEN": "sesame-of-the-test",
	} {
		t.Setenv(name, value)
	}
	for _, test := range []struct{ strategy, args, says string }{
		{"", "check", ""},
		{"unsafe", "check", "refused without --allow-unsafe"},
		{"unsafe", "serve", "refused without --allow-unsafe"},
		{"unsafe", "check --allow-unsafe", ""},
		{"groupde", "check", "STOCK_STRATEGY: "},
		{"groupde", "serve", "STOCK_STRATEGY: "},
	} {
		t.Setenv("STOCK_STRATEGY", test.strategy)
		c := newCommand()
		c.SetArgs(strings.Fields(test.args))
		var stderr bytes.Buffer
		c.SetErr(&stderr)
		exit, want := command.Run(t.Context(), c), command.Passed
		if test.says != "" {
			want = command.Misused
		}
		if exit != want || !strings.Contains(stderr.String(), test.says) {
			t.Errorf("%+v: exit code %d, want %d: %s", test, exit, want, stderr.String())
		}
	}
}

func TestConfigKeepsSecrets(t *testing.T) {
	cfg := settings{Settings: service.Settings{Token: "sesame-of-the-test", MySQLDSN: "stock_app:hush@tcp(db)/stock"}}
	for _, text := range []string{fmt.Sprint(cfg), fmt.Sprintf("%+v", cfg), fmt.Sprintf("%v", &cfg)} {
		if strings.Contains(text, "sesame-of-the-test") || strings.Contains(text, "hush") {
			t.Errorf("printed a secret: %s", text)
		}
	}
	var out bytes.Buffer
	c := newCommand()
	c.SetOut(&out)
	c.SetArgs([]string{"--help"})
	if err := c.Execute(); err != nil || !strings.Contains(out.String(), "--allow-unsafe") {
		t.Errorf("help: %v\n%s", err, out.String())
	}
	for _, name := range deduct.Names() {
		if !strings.Contains(out.String(), "\n  "+name+" ") {
			t.Errorf("help does not list %s:\n%s", name, out.String())
		}
	}
	bad := settings{LockTimeout: -1}
	if err := bad.Check(); err == nil || !strings.Contains(err.Error(), "LOCK_TIMEOUT") ||
		!strings.Contains(err.Error(), "ZOOKEEPER_ROOT") {
		t.Errorf("check: %v", err)
	}
}
