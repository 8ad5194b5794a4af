package console

import (
	"database/sql"
	"slices"
	"strconv"
	"strings"
	"sync"

	"orderstock/loadtest/system"
	"orderstock/loadtest/trial"
	"orderstock/pkg/zklock"
)

// view is the watched stack.
type view struct {
	Target
	orders, stock *sql.DB // as a user that may only read
	tally         tally
	members       []member // of a lab; nil if attached
	oneLock       bool     // fault H is broken: all products have the lock of product 0

	steps map[string]map[string]int // for readEdges, by replica and process: how often it has passed each step

	mu      sync.Mutex
	session *zklock.Session // for readLock; nil until it is first needed
	closed  bool
}

// labView returns the view of a lab whose services run so.
func labView(l *system.System, v trial.Services) (*view, error) {
	partitions, _ := strconv.Atoi(v.Env["STOCK_PARTITIONS"]) // none: the default
	s, err := openView(Target{
		Target: l.Target(), Databases: l.Databases(),
		ZooKeeperRoot: l.ZooKeeperRoot(), Redis: l.RedisServer(), Partitions: partitions,
	})
	if err != nil {
		return nil, err
	}
	s.oneLock = slices.Contains(strings.Split(v.Mutants, ","), "one-lock")
	for _, r := range l.Replicas() {
		s.members = append(s.members, member{r.Name(), string(r.Kind), r.URL(), "http://" + r.OpsAddr, r})
	}
	return s, nil
}

func openView(t Target) (*view, error) {
	s := &view{Target: t, steps: map[string]map[string]int{}}
	var err error
	if s.orders, err = openReader(t.OrderDSN); err != nil {
		return nil, err
	}
	if s.stock, err = openReader(t.StockDSN); err != nil {
		_ = s.orders.Close()
		return nil, err
	}
	if len(t.Watched) == 0 {
		for kind, urls := range map[string][]string{"order": t.OrderURLs, "stock": t.StockURLs} {
			for _, url := range urls {
				s.Watched = append(s.Watched, Watched{Kind: kind, URL: url})
			}
		}
	}
	return s, nil
}

// openReader opens a database for a few small reads at a time.
func openReader(dsn string) (*sql.DB, error) {
	db, err := system.OpenDB(dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(3)
	return db, nil
}

func (s *view) close() {
	_, _ = s.orders.Close(), s.stock.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.session != nil {
		_ = s.session.Close()
		s.session = nil
	}
}
