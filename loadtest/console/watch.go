package console

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// source is a part of the state that is read repeatedly.
type source struct {
	every time.Duration
	read  func(context.Context, *view) error
	// most is the longest pause between two reads. Default: 2 s.
	most time.Duration
}

// share and ownShare bound the time that a source spends on reading, to 1/share or, in a lab, 1/ownShare, unless its
// longest pause is over. A stack that the console did not start must lose little of its throughput (0.99 ± 0.02
// remained when measured); in a lab the console must follow a sale that lasts two seconds.
const share, ownShare = 150, 20

// watch reads all sources until ctx ends, but only while a page is open.
func (c *Console) watch(ctx context.Context) {
	var reading sync.WaitGroup
	defer reading.Wait()
	for _, s := range []source{
		{every: 500 * time.Millisecond, read: c.readBooks, most: 30 * time.Second},
		{every: time.Second, read: c.orderReader(), most: 30 * time.Second},
		{every: 200 * time.Millisecond, read: c.readLock},
		{every: 500 * time.Millisecond, read: c.readEdges},
		{every: time.Second, read: c.readMembers},
		{every: time.Second, read: c.readMetrics},
		{every: time.Second, read: c.readExpired},
		{every: 500 * time.Millisecond, read: c.readTraces},
		{every: 250 * time.Millisecond, read: c.bystander(), most: 400 * time.Millisecond}, // or a short run has no shape
	} {
		reading.Go(func() { c.repeat(ctx, s) })
	}
}

// repeat reads a source until ctx ends. Between two reads it waits for s.every or, if that is longer, share times as
// long as the last read took, but not longer than s.most. A source that cannot be read keeps its last value: the
// members' states show which server is away.
func (c *Console) repeat(ctx context.Context, s source) {
	pause, share := s.every, time.Duration(share)
	if c.lab != nil {
		share = ownShare
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		at := c.current()
		if at == nil || !c.hub.watched() {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, 3*time.Second)
		began := time.Now()
		_ = s.read(limited, at)
		cancel()
		pause = max(s.every, min(share*time.Since(began), cmp.Or(s.most, 2*time.Second)))
	}
}

// newest is the number of products shown while this process does not fire.
const newest = 10

// goods returns the goods of the run, and the acknowledged pieces of each. If this console
// does not fire, it returns the newest goods and nil.
func (s *sale) goods(ctx context.Context, at *view) ([]int64, map[int64]int64, error) {
	if s.meter != nil {
		goods, sold := s.meter.sold()
		return goods, sold, nil
	}
	goods, err := newestGoods(ctx, at.stock, newest)
	return goods, nil, err
}

func (c *Console) readBooks(ctx context.Context, s *view) error {
	of, books, err := c.books(ctx, s)
	if err != nil {
		return err
	}
	c.showBooks(of, books)
	return nil
}

// showBooks shows the books that were read of a sale, and the headline that they make, unless the sale is over. It
// notes in the log when the books begin to disagree.
func (c *Console) showBooks(of *sale, books Books) {
	c.mu.Lock()
	if c.sale != of {
		c.mu.Unlock()
		return
	}
	first := books.Wrong != "" && !of.wrong
	of.wrong = of.wrong || first
	c.hub.set(secBooks, books)
	if hero := of.hero(books); hero != nil {
		c.hub.set(secHero, hero)
	}
	c.mu.Unlock()
	if first {
		c.say("books", "the books disagree: %s", books.Wrong)
	}
}

// books reads the books, and returns the sale that was shown before.
func (c *Console) books(ctx context.Context, s *view) (of *sale, books Books, err error) {
	of = c.shown()
	goods, sold, err := of.goods(ctx, s)
	if err != nil {
		return of, books, err
	}
	if books, err = readBooks(ctx, s.stock, goods, sold); err != nil {
		return of, books, err
	}
	if sold == nil {
		if books.Scope, err = scopeOf(ctx, s.stock, len(goods)); err != nil {
			return of, books, err
		}
	}
	books.cut()
	return of, books, nil
}

// showStatuses shows how many orders there are of each status.
func (c *Console) showStatuses(ctx context.Context, s *view) (map[string]int64, error) {
	return s.tally.show(ctx, s.orders, func(counts map[string]int64) { c.hub.set(secStatuses, counts) })
}

// orderReader reads how many orders there are of each status, and how many ended with each commit.
func (c *Console) orderReader() func(context.Context, *view) error {
	var (
		last, orders int64
		at           time.Time
	)
	return func(ctx context.Context, s *view) error {
		statuses, err := c.showStatuses(ctx, s)
		if err != nil {
			return err
		}
		n, err := readCommits(ctx, s.orders)
		if err != nil {
			return err
		}
		ended := statuses["CONFIRMED"] + statuses["REJECTED"] + statuses["CANCELLED"]
		now := time.Now()
		if seconds := now.Sub(at).Seconds(); !at.IsZero() && n >= last && ended >= orders {
			commits := Commits{PerS: float64(n-last) / seconds}
			if n > last {
				commits.OrdersPerCommit = float64(ended-orders) / float64(n-last)
			}
			c.hub.set(secCommits, commits)
		}
		last, orders, at = n, ended, now
		return nil
	}
}

// readExpired counts the services' sessions that ZooKeeper has expired since they started.
func (c *Console) readExpired(ctx context.Context, s *view) error {
	if c.lab == nil {
		return nil
	}
	n, err := c.lab.ExpiredSessions(ctx)
	if err != nil {
		return err
	}
	c.hub.set(secExpired, max(0, n-s.expired))
	return nil
}
