package console

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"orderstock/loadtest/history"
	"orderstock/loadtest/lab"
	"orderstock/pkg/zklock"
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

// goodsOf returns the goods of the run, and the acknowledged pieces of each. If this
// process does not fire, it returns the newest goods and nil.
func (c *Console) goodsOf(ctx context.Context, s *view) ([]int64, map[int64]int64, error) {
	c.mu.Lock()
	m := c.meter
	c.mu.Unlock()
	if m != nil {
		m.mu.Lock()
		goods := m.goods
		m.mu.Unlock()
		return goods, m.soldOf(), nil
	}
	goods, err := newestGoods(ctx, s.stock, newest)
	return goods, nil, err
}

func (c *Console) readBooks(ctx context.Context, s *view) error {
	era, books, err := c.books(ctx, s)
	if err != nil {
		return err
	}
	c.showBooks(era, books)
	return nil
}

// showBooks shows the books that were read in an era, and the headline that they make, unless the era is over. It
// notes in the log when the books begin to disagree.
func (c *Console) showBooks(era int, books Books) {
	c.mu.Lock()
	if c.era != era {
		c.mu.Unlock()
		return
	}
	first := books.Wrong != "" && !c.wrong
	c.wrong = c.wrong || first
	c.hub.set(secBooks, books)
	if hero := c.heroOf(books); hero != nil {
		c.hub.set(secHero, hero)
	}
	c.mu.Unlock()
	if first {
		c.say("books", "the books disagree: %s", books.Wrong)
	}
}

// books reads the books, and returns the era that it began in.
func (c *Console) books(ctx context.Context, s *view) (era int, books Books, err error) {
	c.mu.Lock()
	era = c.era
	c.mu.Unlock()
	goods, sold, err := c.goodsOf(ctx, s)
	if err != nil {
		return era, books, err
	}
	if books, err = readBooks(ctx, s.stock, goods, sold); err != nil {
		return era, books, err
	}
	if sold == nil {
		if books.Scope, err = scopeOf(ctx, s.stock, len(goods)); err != nil {
			return era, books, err
		}
	}
	books.cut()
	return era, books, nil
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

func (c *Console) readLock(ctx context.Context, s *view) error {
	goods := ""
	if ids, _, err := c.goodsOf(ctx, s); err == nil && len(ids) > 0 {
		goods = strconv.FormatInt(ids[0], 10)
	}
	path, says := s.lockPath(goods)
	if path == "" {
		c.hub.set(secLock, Lock{Holders: []Contender{}, Waiters: []Contender{}, Says: says})
		return nil
	}
	session, err := s.zooKeeper(ctx)
	if err != nil {
		return err
	}
	status, err := zklock.Inspect(ctx, session, path)
	if err != nil {
		return err
	}
	c.mu.Lock()
	local, unlocked := c.metrics.local(), c.metrics.unlocked(c.metricsBefore)
	c.mu.Unlock()
	c.hub.set(secLock, Lock{
		Path: path, Holders: contenders(status.Holders), Waiters: contenders(status.Waiters),
		Waiting: status.Waiting, Local: local, Unlocked: unlocked,
	})
	return nil
}

func contenders(of []zklock.Contender) []Contender {
	all := make([]Contender, len(of))
	for i, k := range of {
		owner := k.Owner.Label
		if owner == "" {
			owner = fmt.Sprintf("%s, process %d", k.Owner.Host, k.Owner.PID)
		}
		all[i] = Contender{
			Node: k.Node, Mode: k.Mode, Token: fmt.Sprintf("%x", k.Token.Czxid), SinceMS: time.Since(k.Since).Milliseconds(),
			Owner: owner, Session: fmt.Sprintf("0x%x", k.Session),
		}
	}
	return all
}

// edges maps the steps that the fault build counts to the edges of the picture.
var edges = map[string]string{
	"insert-order/after": "order_mysql",
	"set-flag/after":     "order_redis",
	"call-stock/before":  "order_stock",
	"take-flag/after":    "stock_redis",
	"acquire-lock/after": "stock_zookeeper",
	"commit/after":       "stock_mysql",
}

// readEdges adds up the steps that the replicas have taken. The counts of a replica
// that died are kept.
func (c *Console) readEdges(ctx context.Context, s *view) error {
	if c.lab == nil {
		return nil
	}
	for _, m := range s.members {
		if !m.replica.Running() || lab.Paused(m.replica) {
			continue
		}
		reached, err := m.replica.Reached(ctx)
		if err != nil {
			continue // it is starting, or it has died: the tiles show that
		}
		s.count(m.name, m.replica.Pid(), reached)
	}
	sums := s.edgeCounts()
	c.mu.Lock()
	if c.meter != nil && c.meter.fires(history.PathOrder) {
		sums["client_order"] = c.meter.live.Counts().Orders
	}
	c.mu.Unlock()
	c.hub.set(secEdges, sums)
	return nil
}

func (c *Console) readMembers(ctx context.Context, s *view) error {
	members := s.replicas(ctx)
	replicas := make([]Member, len(members))
	var asked sync.WaitGroup
	for i, m := range members {
		asked.Go(func() { replicas[i] = m.state(ctx) })
	}
	servers := c.servers(ctx, s)
	asked.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.view == s { // else others are starting
		c.hub.set(secReplicas, replicas)
	}
	c.hub.set(secServers, servers)
	return nil
}

func (c *Console) servers(ctx context.Context, s *view) []Member {
	mysql := Member{Name: "mysql", State: stateReady}
	if err := s.orders.PingContext(ctx); err != nil {
		mysql.State, mysql.Says = stateNotReady, "does not answer"
	}
	all := []Member{mysql, answering(ctx, "redis", s.Redis.Addrs), answering(ctx, "zookeeper", s.ZooKeeper)}
	if c.lab != nil {
		for i, p := range c.lab.ServerProcesses() {
			if state := stateOf(p); state != "" {
				all[i].State, all[i].Says = state, ""
			}
		}
	}
	return all
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

// answering reports at how many of the addresses something listens.
func answering(ctx context.Context, name string, addrs []string) Member {
	shown := Member{Name: name, State: stateReady}
	if len(addrs) == 0 {
		shown.State, shown.Says = stateNotReady, "its address was not given"
		return shown
	}
	up := 0
	for _, addr := range addrs {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err == nil {
			up++
			_ = conn.Close()
		}
	}
	switch {
	case up == 0:
		shown.State, shown.Says = stateDead, "does not answer"
	case up < len(addrs):
		shown.Says = fmt.Sprintf("%d of %d answer", up, len(addrs))
	}
	return shown
}

// quiet is how long after the last order another process's run counts as over.
const quiet = 5 * time.Second

// bystander shows the rates of a run that another process fires, from the database. That run is not judged, since the
// console does not know the answers to its clients.
func (c *Console) bystander() func(context.Context, *view) error {
	var (
		last          map[string]int64
		at, begun     time.Time
		placed, heard int64 // orders that others placed, at the last read and when the run began
		byHand        int   // orders that were placed by hand here
		moved         time.Time
	)
	return func(ctx context.Context, s *view) error {
		if c.lab != nil {
			return nil
		}
		counts, err := c.showStatuses(ctx, s)
		if err != nil {
			return err
		}
		c.mu.Lock() // after the read: an order by hand that it counts is known here
		own, placing, hand := c.stop != nil, c.placing, len(c.placed)
		c.mu.Unlock()
		if placing > 0 {
			return nil
		}
		now := time.Now()
		before, took := placed, now.Sub(at).Seconds()
		placed = -int64(hand)
		for _, n := range counts {
			placed += n
		}
		if hand > byHand { // the read may not count them yet
			placed, byHand = max(placed, before), hand
		}
		rate := func(status string) float64 { return float64(counts[status]-last[status]) / took }
		sample := Sample{Confirmed: rate("CONFIRMED"), Rejected: rate("REJECTED")}
		sample.OrdersPerS = sample.Confirmed + sample.Rejected
		first := last == nil
		last, at = counts, now
		switch {
		case own:
			begun = time.Time{}
			return nil
		case first:
			return nil
		case placed > before:
			moved = now
			if begun.IsZero() {
				if !c.watchOther(now) {
					return nil
				}
				begun, heard = now, before
			}
		case begun.IsZero():
			return nil
		case now.Sub(moved) > quiet:
			begun = time.Time{}
			c.otherStopped(placed - heard)
			return nil
		}
		sample.TMS = now.Sub(begun).Milliseconds()
		c.hub.sample(sample)
		return nil
	}
}

// watchOther shows a run that another process fires, replacing the console's last one. It returns false if the console
// has begun to fire itself.
func (c *Console) watchOther(now time.Time) bool {
	run := Run{ID: "other", Title: "orders of another process", Attempt: 1, Attempts: 1, StartedAt: now.UTC()}
	c.mu.Lock()
	if c.stop != nil {
		c.mu.Unlock()
		return false
	}
	c.hub.restart()
	c.meter, c.run, c.other, c.began, c.wrong = nil, &run, true, now, false
	c.era++
	if c.metrics != nil {
		c.metricsBefore = c.metrics
	}
	for section, value := range map[string]any{
		secRun: run, secVerdict: nil, secHero: nil, secCompare: nil, secDoing: "another process fires at this stack",
	} {
		c.hub.set(section, value)
	}
	c.mu.Unlock()
	c.say("run", "another process fires at this stack")
	return true
}

// otherStopped notes that another process has ended its run, unless the console has begun one.
func (c *Console) otherStopped(placed int64) {
	c.mu.Lock()
	if c.stop != nil {
		c.mu.Unlock()
		return
	}
	c.hub.set(secPhase, phaseIdle)
	c.hub.set(secDoing, "")
	c.mu.Unlock()
	c.say("run", "the other process has stopped; it placed %d orders", placed)
}
