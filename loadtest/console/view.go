package console

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"orderstock/loadtest/catalogue"
	"orderstock/loadtest/lab"
	"orderstock/pkg/operation"
	"orderstock/pkg/redisdb"
	"orderstock/pkg/zklock"
	"orderstock/stock-service/deduct"
	"orderstock/stock-service/deduct/strategy"
)

// view is the watched stack.
type view struct {
	Target
	orders, stock *sql.DB // as a user that may only read
	tally         tally
	members       []member // of a lab; nil if attached
	oneLock       bool     // fault H is broken: all products have the lock of product 0
	expired       int      // ZooKeeper's count of expired sessions before its services started

	mu      sync.Mutex
	session *zklock.Session // nil until it is first needed
	closed  bool
	steps   map[string]map[string]int // by replica and process: how often it has passed each step
}

// member is a replica of a service.
type member struct {
	name, kind, url, ops string
	replica              *lab.Replica // nil if attached
}

// labView returns the view of a lab whose services run as a variant, in an environment.
func labView(l *lab.Lab, v catalogue.Variant, env map[string]string) (*view, error) {
	partitions, _ := strconv.Atoi(env["STOCK_PARTITIONS"]) // none: the default
	s, err := openView(Target{
		Target: l.Target(), Databases: l.Databases(),
		ZooKeeper: strings.Split(l.ZooKeeper.Addr(), ","), ZooKeeperRoot: l.Root(),
		Redis: redisdb.Server{Addrs: []string{l.Redis.Addr()}}, Strategy: v.Strategy, Partitions: partitions,
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

// replicas returns the lab's replicas, or one for each address that the watched
// names have at present. A name that cannot be resolved counts as one replica, which does not answer.
func (s *view) replicas(ctx context.Context) []member {
	if s.members != nil {
		return s.members
	}
	var all []member
	n := map[string]int{}
	for _, w := range s.Watched {
		for _, address := range addresses(ctx, w.URL) {
			n[w.Kind]++
			all = append(all, member{
				name: fmt.Sprintf("%s-%d", w.Kind, n[w.Kind]), kind: w.Kind,
				url: withHost(w.URL, address), ops: withHost(w.Ops, address),
			})
		}
	}
	return all
}

// addresses returns the IP addresses of a URL's host in order, or its host name if it has none.
func addresses(ctx context.Context, base string) []string {
	u, err := url.Parse(base)
	if err != nil {
		return []string{""}
	}
	found, err := net.DefaultResolver.LookupHost(ctx, u.Hostname())
	if err != nil || len(found) < 2 {
		return []string{u.Hostname()}
	}
	slices.Sort(found)
	return found
}

// withHost returns a URL with another host, and the same port.
func withHost(base, host string) string {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return base
	}
	if port := u.Port(); port != "" {
		host = net.JoinHostPort(host, port)
	}
	u.Host = host
	return u.String()
}

// openReader opens a database for a few small reads at a time.
func openReader(dsn string) (*sql.DB, error) {
	db, err := lab.OpenDB(dsn)
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

// zooKeeper returns a session for reading the lock's queue.
func (s *view) zooKeeper(ctx context.Context) (*zklock.Session, error) {
	s.mu.Lock()
	session := s.session
	s.mu.Unlock()
	if session != nil {
		return session, nil
	}
	if len(s.ZooKeeper) == 0 {
		return nil, errors.New("no ZooKeeper to look at")
	}
	session, err := zklock.Connect(ctx, s.ZooKeeper, zklock.WithAuth("digest", []byte(s.ZooKeeperAuth)))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.session != nil { // since the look above
		_ = session.Close()
		session = s.session
	}
	if session == nil {
		return nil, errors.New("the services are replaced")
	}
	s.session = session
	return session, nil
}

// lockPath returns the path of the strategy's lock for a product; goods is "" if there is no product yet. If path is
// "", says is the reason.
func (s *view) lockPath(goods string) (path, says string) {
	root := s.ZooKeeperRoot
	if s.oneLock {
		goods = "0"
	}
	switch s.Strategy {
	case "", strategy.Default:
		id, _ := strconv.ParseInt(goods, 10, 64) // none: the partition of 0 is as good as another
		return deduct.PartitionPath(root, operation.Partition(id, cmp.Or(s.Partitions, operation.Partitions))), ""
	case "case-study":
		return root + "/reduceStock", ""
	case "sequential":
		path = root + "/stock/" + goods
	case "zk-lock":
		path = root + "/zk-lock/" + goods
	case "single-node":
		return "", "The lock of a product is one node that every waiter watches: there is no queue."
	default:
		return "", "This strategy takes no lock in ZooKeeper."
	}
	if goods == "" {
		return "", "No lock has been taken yet."
	}
	return path, ""
}

// probe keeps no connection, so that a dead replica is not mistaken for a live one.
var probe = &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// state returns the state of a replica.
func (m member) state(ctx context.Context) Member {
	shown := Member{Name: m.name, Kind: m.kind, Ops: m.ops, State: stateReady}
	if m.replica != nil {
		if state := stateOf(m.replica); state != "" {
			shown.State = state
			return shown
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.url+"/readyz", nil)
	if err != nil {
		shown.State, shown.Says = stateNotReady, err.Error()
		return shown
	}
	resp, err := probe.Do(req)
	switch {
	case err != nil && m.replica == nil:
		shown.State, shown.Says = stateDead, "does not answer"
	case err != nil:
		shown.State, shown.Says = stateNotReady, "does not answer"
	default:
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			shown.State, shown.Says = stateNotReady, resp.Status
		}
	}
	return shown
}

// stateOf returns the state of a process that is dead, paused or starting, or "".
func stateOf(p lab.Process) string {
	switch {
	case !p.Running():
		return stateDead
	case lab.Paused(p):
		return statePaused
	case p.Starting():
		return stateStarting
	}
	return ""
}

// count records how often a replica's process has passed each step.
func (s *view) count(replica string, pid int, reached map[string]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps[fmt.Sprintf("%s/%d", replica, pid)] = reached
}

// edgeCounts adds up the steps of all processes, dead ones included.
func (s *view) edgeCounts() map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	sums := map[string]int64{}
	for _, reached := range s.steps {
		for step, edge := range edges {
			sums[edge] += int64(reached[step])
		}
	}
	return sums
}
