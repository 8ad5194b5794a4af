package console

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"orderstock/loadtest/report"
	"orderstock/loadtest/tables"
	"orderstock/loadtest/trial"
	"orderstock/pkg/mysqldb"
)

// reader reads a part of the state repeatedly.
type reader struct {
	every time.Duration
	read  func(context.Context, *view) error
	// most is the longest pause between two reads. Default: 2 s.
	most time.Duration
	// always says that it reads while no page is open, too.
	always bool
}

// share and ownShare bound the time that a reader spends, to 1/share or, in a lab, 1/ownShare, unless its
// longest pause is over. A stack that the console did not start must lose little of its throughput (0.99 ± 0.02
// remained when measured); in a lab the console must follow a sale that lasts two seconds.
const share, ownShare = 150, 20

// watch lets all readers read until ctx ends.
func (c *Console) watch(ctx context.Context) {
	readers := []reader{
		{every: tables.Interval, read: c.sampleReader(), most: tables.Interval, always: true}, // it asks no server
		{every: 500 * time.Millisecond, read: c.readBooks, most: 30 * time.Second},
		{every: 200 * time.Millisecond, read: c.readLock},
		{every: time.Second, read: c.readMembers},
		{every: time.Second, read: c.metricsReader()},
		{every: 500 * time.Millisecond, read: c.readTraces},
	}
	if c.lab != nil {
		readers = append(readers,
			reader{every: time.Second, read: c.flowReader(), most: 30 * time.Second},
			reader{every: 500 * time.Millisecond, read: c.readEdges},
			reader{every: 125 * time.Millisecond, read: c.readFaults, most: 250 * time.Millisecond, always: true})
	} else { // at the longest pause a short run still has a shape
		readers = append(readers, reader{every: tables.Interval, read: c.flowReader(), most: 400 * time.Millisecond})
	}
	var reading sync.WaitGroup
	defer reading.Wait()
	for _, r := range readers {
		reading.Go(func() { c.repeat(ctx, r) })
	}
}

// repeat reads until ctx ends. Between two reads it waits for r.every or, if that is longer, share times as
// long as the last read took, but not longer than r.most. What cannot be read keeps its last value: the
// members' states show which server is away.
func (c *Console) repeat(ctx context.Context, r reader) {
	pause, share := r.every, time.Duration(share)
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
		if at == nil || !r.always && !c.feed.watched() {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, 3*time.Second)
		began := time.Now()
		_ = r.read(limited, at)
		cancel()
		pause = max(r.every, min(share*time.Since(began), cmp.Or(r.most, 2*time.Second)))
	}
}

// sampleReader samples the run that this console fires.
func (c *Console) sampleReader() func(context.Context, *view) error {
	var (
		of   *tables.Meter
		last time.Duration
	)
	return func(context.Context, *view) error {
		m := c.player.Meter()
		if m.Phase() != trial.Firing {
			return nil
		}
		if m != of {
			of, last = m, 0
		}
		if t, begun := m.Since(); begun {
			c.feed.set("sample", m.Take(t, t-last))
			last = t
		}
		return nil
	}
}

// newest is the number of products shown while this process does not fire.
const newest = 10

// saleOf returns the goods of the run or, if this console has fired none, the newest goods.
func saleOf(ctx context.Context, at *view, m *tables.Meter) (tables.Sale, error) {
	sale := m.Sale()
	if sale.Acknowledged != nil {
		return sale, nil
	}
	goods, err := mysqldb.All(ctx, at.stock, mysqldb.One[int64],
		"SELECT goods_id FROM stock ORDER BY goods_id DESC LIMIT ?", newest)
	if err != nil {
		return sale, fmt.Errorf("read goods: %w", err)
	}
	return tables.Sale{Goods: goods}, nil
}

// readBooks shows the books and, until the run is judged, the headline that they make.
func (c *Console) readBooks(ctx context.Context, s *view) error {
	of := c.player.Meter()
	over := of.Phase() == trial.Idle
	sale, err := saleOf(ctx, s, of)
	if err != nil {
		return err
	}
	books, err := tables.ReadBooks(ctx, s.stock, sale)
	if err != nil {
		return err
	}
	if sale.Acknowledged == nil {
		if books.Scope, err = scopeOf(ctx, s, len(sale.Goods)); err != nil {
			return err
		}
	}
	c.showBooks(of, over, books)
	return nil
}

// showBooks shows the books of a run, unless they were read before it was over, or another began.
func (c *Console) showBooks(of *tables.Meter, over bool, books tables.Books) {
	c.mu.Lock()
	defer c.mu.Unlock()
	phase := of.Phase()
	if c.player.Meter() != of || (phase == trial.Idle) != over {
		return
	}
	c.feed.set("books", books)
	if over || len(books.Rows) == 0 {
		return
	}
	head := tables.Headline{Sentence: books.Sentence()}
	if phase != tables.Watching {
		head.Word = tables.Running
	}
	if books.Wrong != "" {
		head.Word = tables.Disagreeing
	}
	c.feed.set("hero", head)
	c.player.Disagree(books.Wrong)
}

// mostCounted bounds the products that are counted.
const mostCounted = 10_000

// scopeOf says in words how many of the products the newest are; "" if they are all.
func scopeOf(ctx context.Context, s *view, shown int) (string, error) {
	var n int
	err := s.stock.QueryRowContext(ctx,
		"SELECT COUNT(*) FROM (SELECT 1 FROM stock LIMIT ?) AS counted", mostCounted+1).Scan(&n)
	switch {
	case err != nil:
		return "", fmt.Errorf("count goods: %w", err)
	case n <= shown:
		return "", nil
	case n > mostCounted:
		return report.English.Sprintf("the newest %d of more than %d products", shown, mostCounted), nil
	}
	return report.English.Sprintf("the newest %d of %d products", shown, n), nil
}

// readTraces shows which orders were traced last, and their statuses by now. Orders of databases that are gone are left
// out.
func (c *Console) readTraces(ctx context.Context, s *view) error {
	recent := []Recent{}
	for _, id := range c.traces.Recent(8) {
		db, query, key := s.stock, "SELECT state FROM operations WHERE flag = ?", any(id)
		if order, err := strconv.ParseInt(id, 10, 64); err == nil {
			db, query, key = s.orders, "SELECT status FROM orders WHERE id = ?", order
		}
		status, err := mysqldb.All(ctx, db, mysqldb.One[string], query, key)
		if err != nil {
			return fmt.Errorf("read a traced order: %w", err)
		}
		if len(status) > 0 {
			recent = append(recent, Recent{OrderID: id, Status: status[0]})
		}
	}
	c.feed.set("recent", recent)
	return nil
}

// readFaults shows which faults have struck, and which last.
func (c *Console) readFaults(ctx context.Context, _ *view) error {
	c.player.Board.Read(ctx)
	return nil
}
