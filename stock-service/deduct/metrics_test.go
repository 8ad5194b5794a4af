package deduct_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"orderstock/pkg/operation"
	"orderstock/pkg/servers/serverstest"
	"orderstock/stock-service/deduct"
	"orderstock/stock-service/deduct/compared"
	"orderstock/stock-service/internal/stocktest"
)

// TestWaitersAreCounted holds the lock from outside: the metrics must count those who wait for it, and nobody after.
func TestWaitersAreCounted(t *testing.T) {
	const waiters, name = 5, "sequential"
	p := stocktest.New(t)
	root, registry := serverstest.ZooKeeperRoot(t), prometheus.NewRegistry()
	s := p.Open(t, name, func(c *compared.Config) { c.Root, c.Metrics = root, registry })
	goods := p.Goods(t, waiters)
	lock := hold(t, root+lockPaths(goods)[name])
	var all sync.WaitGroup
	for range waiters {
		all.Go(func() {
			_, err := s.Deduct(t.Context(), one(p, goods))
			if err != nil {
				t.Error(err)
			}
		})
	}
	waiting := func() float64 { return metric(t, registry, "stock_lock_waiting") }
	eventually(t, "all to be counted", func() bool { return waiting() == waiters })
	must(t, lock.Release(t.Context()))
	all.Wait()
	if n := waiting(); n != 0 {
		t.Errorf("%v wait after all were served", n)
	}
}

// metric returns the value of a counter or gauge.
func metric(t *testing.T, from prometheus.Gatherer, name string) float64 {
	t.Helper()
	families, err := from.Gather()
	must(t, err)
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue() + f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

// A strategy without a lock cannot go on without one.
func TestGroupsOfNoLockAreNotUnlocked(t *testing.T) {
	p := stocktest.New(t)
	registry := prometheus.NewRegistry()
	s := p.Open(t, "grouped-rows", func(c *compared.Config) { c.Metrics = registry })
	_, err := s.Deduct(t.Context(), one(p, p.Goods(t, 1)))
	must(t, err)
	if n := metric(t, registry, "stock_groups_unlocked_total"); n != 0 {
		t.Errorf("%v groups count as unlocked", n)
	}
}

// A group whose callers have all left while it waited for its lock runs nothing, with or without the lock.
func TestAGroupThatEverybodyLeftIsNotCounted(t *testing.T) {
	p := stocktest.New(t)
	root, registry := serverstest.ZooKeeperRoot(t), prometheus.NewRegistry()
	s := p.Open(t, "grouped", func(c *compared.Config) {
		c.Root, c.Metrics, c.LockPatience = root, registry, 500*time.Millisecond // the group waits for two seconds
	})
	lock := hold(t, deduct.PartitionPath(root, 0))
	t.Cleanup(func() { _ = lock.Release(context.WithoutCancel(t.Context())) })
	request, left := one(p, p.Goods(t, 1)), make(chan error, 1)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	go func() {
		_, err := s.Deduct(ctx, request)
		left <- err
	}()
	eventually(t, "the operation to wait for the lock", func() bool { return deduct.Waiting(s) == 1 })
	leave()
	if err := <-left; !errors.Is(err, operation.ErrUnavailable) {
		t.Fatalf("%v; want %v: nobody has taken the call", err, operation.ErrUnavailable)
	}
	must(t, s.Close()) // waits for the group
	if n := metric(t, registry, "stock_groups_unlocked_total"); n != 0 {
		t.Errorf("%v groups count as executed without their locks", n)
	}
}
