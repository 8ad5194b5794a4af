package opflag_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"orderstock/pkg/opflag"
	"orderstock/pkg/redisdb"
	"orderstock/pkg/servers"
	"orderstock/pkg/servers/serverstest"
)

func open(t *testing.T, addr string, db int) *opflag.Flags {
	t.Helper()
	f := opflag.OpenAt(redisdb.Server{Addrs: []string{addr}, DB: db}, slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func TestOneTakesEachFlag(t *testing.T) {
	f := open(t, serverstest.Redis(t).Addr(), serverstest.RedisDB(t))
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
	server, err := servers.StartRedis(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop(context.WithoutCancel(t.Context())) })
	f := open(t, server.Addr(), 0)
	if !f.Set(t.Context(), "a") {
		t.Fatal("set: no answer")
	}
	if err := server.Pause(); err != nil {
		t.Fatal(err)
	}
	for i := range 200 { // enough for three failures, and well past them
		start := time.Now()
		if f.Take(t.Context(), "a") {
			t.Fatal("took a flag from a server that does not answer")
		}
		if took := time.Since(start); took > time.Second {
			t.Fatalf("take %d waited %v for a Redis that hangs", i, took)
		} else if i > 10 && i < 190 && took > 100*time.Millisecond {
			t.Errorf("take %d waited %v: the breaker is closed", i, took)
		}
	}
	if err := server.Resume(); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for !f.Set(t.Context(), "b") { // the breaker tries again after its rest
		if time.Now().After(deadline) {
			t.Fatal("redis is back, and the flags are not")
		}
		time.Sleep(20 * time.Millisecond)
	}
	if !f.Take(t.Context(), "b") {
		t.Error("b: set, yet not taken")
	}
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
		f := open(t, test.addr, serverstest.RedisDB(t))
		metrics := prometheus.NewRegistry()
		f.Register(metrics)
		for i := range 5 { // enough to open the circuit breaker
			f.Set(t.Context(), fmt.Sprintf("measured-%d", i))
		}
		if err := f.Ping(t.Context()); (err == nil) != test.connections {
			t.Errorf("%s: ping: %v", name, err)
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
	}
}
