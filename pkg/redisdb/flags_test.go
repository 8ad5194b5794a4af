package redisdb_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"orderstock/pkg/redisdb"
	"orderstock/pkg/servers"
	"orderstock/pkg/servers/serverstest"
)

func open(t *testing.T, addr string, db int, log slog.Handler, opts ...redisdb.Option) *redisdb.Flags {
	t.Helper()
	f := redisdb.OpenFlags(redisdb.Server{Addrs: []string{addr}, DB: db}, slog.New(log), opts...)
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// patient is for the shared Redis, which may be slow, though it is not broken.
var patient = redisdb.WithTimeout(20 * time.Second)

func TestOneTakesEachFlag(t *testing.T) {
	f := open(t, serverstest.Redis(t).Addr(), serverstest.RedisDB(t), slog.DiscardHandler, patient)
	const flags, takers = 50, 8
	var taken atomic.Int64
	var wg sync.WaitGroup
	for i := range flags {
		flag := fmt.Sprintf("one-%d", i)
		wg.Go(func() {
			if !f.Set(t.Context(), flag) {
				t.Errorf("set %s: no answer", flag)
			}
			var takes sync.WaitGroup
			for range takers {
				takes.Go(func() {
					if f.Take(t.Context(), flag) {
						taken.Add(1)
					}
				})
			}
			takes.Wait()
		})
	}
	wg.Wait()
	if n := taken.Load(); n != flags {
		t.Errorf("%d of %d flags taken; want each once", n, flags)
	}
	if f.Take(t.Context(), "never-set") {
		t.Error("took a flag that nobody set")
	}
}

// A Redis that stops answering reads as "not taken", and soon costs next to nothing.
func TestHangingRedisCostsLittle(t *testing.T) {
	server, err := servers.StartRedis(t.Context(), servers.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop(context.WithoutCancel(t.Context())) })
	var log bytes.Buffer
	f := open(t, server.Addr(), 0, slog.NewTextHandler(&log, nil))
	eventually(t, "a is set", func() bool { return f.Set(t.Context(), "a") })
	if err := server.Pause(); err != nil {
		t.Fatal(err)
	}
	before := log.Len()
	for i := range 200 { // enough for three failures, and well past them
		start := time.Now()
		if f.Take(t.Context(), "a") {
			t.Fatal("took a flag from a server that does not answer")
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Fatalf("take %d waited %v for a Redis that hangs", i, took)
		}
		// From here on, a take does not wait, except for one a second, which tries again.
		if opened := strings.Contains(log.String()[before:], "to=open"); opened != (i >= 2) {
			t.Fatalf("take %d: the breaker has opened: %v; want it after three failures", i, opened)
		}
	}
	if err := server.Resume(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "redis is back, and so are the flags", func() bool { // the breaker tries again after its rest
		return f.Set(t.Context(), "b") && f.Take(t.Context(), "b")
	})
}

// TestMetrics: the metrics distinguish a Redis that answers from one that does not.
func TestMetrics(t *testing.T) {
	for name, test := range map[string]struct {
		addr        string
		connections bool
		open        float64
	}{
		"it answers":      {addr: serverstest.Redis(t).Addr(), connections: true},
		"nobody is there": {addr: "127.0.0.1:1", open: 1},
	} {
		f := open(t, test.addr, serverstest.RedisDB(t), slog.DiscardHandler, patient)
		metrics := prometheus.NewRegistry()
		f.Register(metrics)
		for i := range 5 { // enough to open the circuit breaker
			f.Set(t.Context(), fmt.Sprintf("measured-%d", i))
		}
		got := map[string]float64{}
		families, err := metrics.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			m := family.GetMetric()[0]
			got[family.GetName()] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
		if got["redis_breaker_open"] != test.open || (got["redis_connections"] > 0) != test.connections {
			t.Errorf("%s: %v", name, got)
		}
		if err := f.Ping(t.Context()); (err == nil) != test.connections {
			t.Errorf("%s: ping: %v", name, err)
		}
	}
}

var eventually = serverstest.Eventually

// TestAFullRedisIsNotReady: at its maxmemory it answers a PING, and sets no flag.
func TestAFullRedisIsNotReady(t *testing.T) {
	t.Parallel()
	server := serverstest.Start(t, servers.StartRedis, servers.Options{})
	f := open(t, server.Addr(), 0, slog.DiscardHandler, patient)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer func() { _ = client.Close() }()
	for _, full := range []bool{false, true, false} {
		limit := map[bool]string{false: "0", true: "1"}[full]
		if err := client.ConfigSet(t.Context(), "maxmemory", limit).Err(); err != nil {
			t.Fatal(err)
		}
		if err := f.Ping(t.Context()); err != nil {
			t.Error(err)
		}
		if ready, set := f.Ready(t.Context()), f.Set(t.Context(), "a"); set == full || (ready == nil) == full {
			t.Errorf("full: %t; set %t, ready: %v", full, set, ready)
		}
	}
}
