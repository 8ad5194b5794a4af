package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/caarlos0/env/v11"

	"orderstock/pkg/operation"
	"orderstock/pkg/servers"
	"orderstock/pkg/servers/serverstest"
	"orderstock/pkg/service"
	"orderstock/pkg/stockapi"
	"orderstock/stock-service/deduct"
	"orderstock/stock-service/stocktest"
)

// settings returns the environment of a service on the test's servers.
func settings(t *testing.T, p *stocktest.Place, strategy string) config {
	t.Helper()
	cfg, err := env.ParseAsWithOptions[config](env.Options{Environment: map[string]string{
		"LISTEN_ADDR": "127.0.0.1:0", "SERVICE_TOKEN": "sesame", "MYSQL_DSN": p.DSN, "LOG_LEVEL": "ERROR",
		"REDIS_ADDR": serverstest.Redis(t).Addr(), "ZOOKEEPER_ADDRS": serverstest.ZooKeeper(t).Addr(),
		"ZOOKEEPER_ROOT": serverstest.ZooKeeperRoot(t), "STOCK_STRATEGY": strategy,
	}})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// start runs the service until it is ready. stop ends it, and its end is told on ended.
func start(t *testing.T, cfg config) (base string, stop context.CancelFunc, ended <-chan error) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	addrs, end := make(chan string, 1), make(chan error, 1)
	go func() { end <- run(ctx, cfg, options{onListen: func(addr string) { addrs <- addr }}) }()
	select {
	case addr := <-addrs:
		base = "http://" + addr
	case err := <-end:
		t.Fatal(err)
	}
	awaitReady(t, base, http.StatusOK, `{"status":"ready"}`)
	return base, stop, end
}

// awaitReady waits until /readyz answers that, and fails where one answer takes long.
func awaitReady(t *testing.T, base string, status int, body string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		asked := time.Now()
		resp, err := http.Get(base + "/readyz")
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

// TestReady: without Redis the service is degraded, and ready; without what it cannot do without it
// is not, and says so soon although the server that it asks does not answer.
func TestReady(t *testing.T) {
	p := stocktest.New(t)
	cfg := settings(t, p, defaultStrategy)
	redis, err := servers.StartRedis(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = redis.Kill() })
	zookeeper, err := servers.StartZooKeeper(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = zookeeper.Kill() })
	cfg.RedisAddr, cfg.ZooKeeperAddrs, cfg.SessionTimeout = redis.Addr(), []string{zookeeper.Addr()}, 30*time.Second

	base, stop, ended := start(t, cfg)
	if err := redis.Kill(); err != nil {
		t.Fatal(err)
	}
	awaitReady(t, base, http.StatusOK, `{"status":"degraded","failing":["redis"]}`)
	if err := zookeeper.Pause(); err != nil {
		t.Fatal(err)
	}
	awaitReady(t, base, http.StatusServiceUnavailable, `{"status":"not ready","failing":["redis","strategy"]}`)
	if err := zookeeper.Resume(); err != nil {
		t.Fatal(err)
	}
	awaitReady(t, base, http.StatusOK, `{"status":"degraded","failing":["redis"]}`)
	stop()
	if err := <-ended; err != nil {
		t.Errorf("stop: %v", err)
	}
}

// TestServesAndStops runs the whole program, and stops it while deductions are
// on their way: each is answered.
func TestServesAndStops(t *testing.T) {
	p := stocktest.New(t)
	goods := p.Goods(t, 1000)
	base, stop, ended := start(t, settings(t, p, defaultStrategy))
	client, err := stockapi.NewClient([]string{base}, "sesame")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	const crowd = 40
	answers, sent := make(chan error, crowd), make(chan struct{}, crowd)
	for range crowd {
		go func() {
			sent <- struct{}{}
			op, err := client.Deduct(context.WithoutCancel(t.Context()), p.Flag(), []stockapi.Item{{GoodsID: fmt.Sprint(goods), Num: 1}})
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
		case !strings.Contains(err.Error(), "refused") && !strings.Contains(err.Error(), "EOF") && !strings.Contains(err.Error(), "reset"):
			t.Errorf("cut short: %v", err) // those that came too late to be let in were not
		}
	}
	if err := <-ended; err != nil {
		t.Errorf("stop: %v", err)
	}
	if left := p.Level(t, goods); left != int64(1000-done) || done == 0 {
		t.Errorf("%d answered as done, %d left of 1000", done, left)
	}
}

func TestUnsafeNeedsLeave(t *testing.T) {
	p := stocktest.New(t)
	if err := run(t.Context(), settings(t, p, "unsafe"), options{}); err == nil || !strings.Contains(err.Error(), deduct.ErrUnsafe.Error()) {
		t.Errorf("started without --allow-unsafe: %v", err)
	}
	if err := run(t.Context(), settings(t, p, "nonsense"), options{}); err == nil || !strings.Contains(err.Error(), "grouped, ") {
		t.Errorf("unknown strategy: %v; want the names of those there are", err)
	}
}

func TestConfigKeepsSecrets(t *testing.T) {
	cfg := config{Settings: service.Settings{Token: "sesame", MySQLDSN: "stock_app:hush@tcp(db)/stock"}}
	for _, text := range []string{fmt.Sprint(cfg), fmt.Sprintf("%+v", cfg), fmt.Sprintf("%v", &cfg)} {
		if strings.Contains(text, "sesame") || strings.Contains(text, "hush") {
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
	bad := config{LockTimeout: -1}
	if err := bad.validate(); err == nil || !strings.Contains(err.Error(), "LOCK_TIMEOUT") || !strings.Contains(err.Error(), "ZOOKEEPER_ROOT") {
		t.Errorf("validate: %v", err)
	}
}
