package stockapi

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/sony/gobreaker/v2"

	"orderstock/pkg/batch"
	"orderstock/pkg/operation"
)

// fleet is an immutable snapshot of the replicas.
type fleet struct {
	all []*replica
	// ranked holds all replicas for each partition, the preferred first.
	ranked [][]*replica
}

// rank orders the replicas for each partition by rendezvous hashing: each by the hash of its address and the partition.
// When one comes or goes, the others keep their order.
func rank(all []*replica, partitions int) *fleet {
	f := &fleet{all: all, ranked: make([][]*replica, partitions)}
	for p := range partitions {
		weight := func(r *replica) uint64 { return xxhash.Sum64String(fmt.Sprintf("%s partition-%d", r.base, p)) }
		f.ranked[p] = slices.Clone(all)
		slices.SortFunc(f.ranked[p], func(a, b *replica) int { return cmp.Compare(weight(b), weight(a)) })
	}
	return f
}

func writes(r *replica) breaker { return r.writes }

func reads(r *replica) breaker { return r.reads }

// SetReplicas replaces the stock services to call with the ones at these base URLs. Calls in flight to others complete
// there. If it returns an error, it changed nothing.
func (c *Client) SetReplicas(bases []string) error {
	known := map[string]*replica{}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.fleet.Load().all {
		known[r.base] = r
	}
	var all []*replica
	for _, base := range bases {
		u, err := url.Parse(base)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return fmt.Errorf("stock client: base URL %q: want http://host:port", base)
		}
		base = strings.TrimRight(base, "/")
		if slices.ContainsFunc(all, func(r *replica) bool { return r.base == base }) {
			continue
		}
		r := known[base]
		if r == nil {
			r = c.newReplica(base)
		}
		delete(known, base)
		all = append(all, r)
	}
	c.fleet.Store(rank(all, c.cfg.Partitions))
	for _, gone := range known {
		if gone.shared != nil {
			c.leaving.Go(gone.shared.Close)
		}
	}
	return nil
}

func (c *Client) newReplica(base string) *replica {
	r := &replica{
		base: base, hedge: c.cfg.hedge,
		writes: newBreaker("stock writes at "+base, c.cfg), reads: newBreaker("stock reads at "+base, c.cfg),
	}
	if n := c.cfg.SharedRequests; n > 0 {
		r.shared = batch.New(func(ctx context.Context, take func() []*sharedCall) { c.sendShared(ctx, r, take) },
			batch.WithMaxSize(MaxDeductions), batch.WithConcurrency(n), batch.WithFullConcurrency(4*n), batch.WithGather(8))
	}
	return r
}

// forItems returns the replicas in the order to try for a deduction. The partition of its first item decides the order.
// Each number of earlier tries begins with another replica.
func (c *Client) forItems(items []operation.Item, tries int) []*replica {
	if c.cfg.Spread {
		return c.inTurn(0)
	}
	partition := 0
	if len(items) > 0 {
		partition = operation.Partition(items[0].GoodsID, c.cfg.Partitions)
	}
	return shifted(c.fleet.Load().ranked[partition], tries)
}

// inTurn returns the replicas in round-robin order.
func (c *Client) inTurn(tries int) []*replica {
	return shifted(c.fleet.Load().all, int(c.turn.Add(1))+tries)
}

func shifted(order []*replica, by int) []*replica {
	if len(order) < 2 || by%len(order) == 0 {
		return order
	}
	by %= len(order)
	return slices.Concat(order[by:], order[:by])
}

// Down reports whether no write can be sent: no replica is known, or every breaker is open or has used all its probes.
func (c *Client) Down() bool {
	for _, r := range c.fleet.Load().all {
		switch r.writes.State() {
		case gobreaker.StateOpen:
		case gobreaker.StateHalfOpen:
			if counted(r.writes.Counts()) < probes {
				return false
			}
		default:
			return false
		}
	}
	return true
}
