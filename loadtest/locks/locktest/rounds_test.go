package locktest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/loadtest/locks"
	"orderstock/loadtest/system"
	"orderstock/loadtest/trial"
	"orderstock/pkg/servers"
	"orderstock/pkg/zkclient"
	"orderstock/pkg/zklock"
)

const (
	processes    = 4
	goroutines   = 5 // of a process
	shortSession = 1500 * time.Millisecond
	away         = shortSession * 3 / 2 // past the session
	patience     = 30 * time.Second     // for everybody to hold again
	longest      = time.Minute          // of a round
)

// round disturbs processes that contend for one lock of package zklock, on its path, and checks the history of their
// grants: mutual exclusion as ZooKeeper sees it, rising tokens, and a counter that is raised under the lock.
type round struct {
	servers []*servers.ZooKeeper // three of them or more form an ensemble, whose members are killed as well
	path    string               // below which nothing else happens
	handoff int                  // hand-overs within a process; 1 turns them off
	least   int                  // grants
	rand    *rand.Rand

	session *zklock.Session // to look with, past the wires
	members []*member
	heals   []chan error

	histories [][]locks.Record
	awake     []holding // of processes that were never paused

	faults     map[string]int // that struck
	violations []string       // what does not hold
	unknown    string         // why the round shows nothing but the history of its grants; "" if it shows all
	says       string         // the figures, for people
}

// member is a process of contenders, with one wire to each server.
type member struct {
	*locks.Process

	worker contenders
	paused bool // was ever paused since it started

	mu    sync.Mutex // of one change of the wires after the other
	wires []*system.Wire
}

func (r *round) lock() string    { return r.path + "/lock" }
func (r *round) counter() string { return r.path + "/counter" }

func (r *round) run(ctx context.Context, length time.Duration) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the processes
	defer func() {
		for _, m := range r.members {
			if m.Process != nil {
				m.Kill()
			}
			for _, w := range m.wires {
				w.Close()
			}
		}
		if r.session != nil {
			err = errors.Join(err, r.session.Close())
		}
	}()
	err = r.disturb(ctx, length)
	if errors.Is(err, locks.ErrLate) {
		err = r.stuck(ctx, err.Error())
	}
	if err != nil {
		return err
	}
	for _, m := range r.members {
		if err := m.Finish(); err != nil {
			r.violations = append(r.violations, err.Error())
		}
		r.retire(m)
	}
	return r.judge(ctx)
}

// disturb lets everybody contend, strikes and heals for that long, and then waits until each process has had the lock
// again.
func (r *round) disturb(ctx context.Context, length time.Duration) error {
	if err := r.prepare(ctx); err != nil {
		return err
	}
	begin := time.Now()
	faults := r.ways(ctx)
	for i := 0; time.Since(begin) < length || i < len(faults) || r.granted() < r.least; i++ {
		if time.Since(begin) > length+patience {
			break // the judgement says so
		}
		f := faults[i%len(faults)]
		if err := f.strike(); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		r.faults[f.name]++
		if err := trial.Sleep(ctx, time.Duration(r.rand.Int64N(int64(time.Second)))); err != nil {
			return err
		}
	}
	if err := r.healed(); err != nil {
		return err
	}
	for _, m := range r.members { // everybody goes on
		if _, err := m.Await(len(m.History()), locks.Granted, patience); err != nil {
			return fmt.Errorf("after the faults, %w", err)
		}
	}
	return nil
}

// stuck notes that the round does not go on, or that something stays for ever. The lock is to blame if the servers
// agree about its queue. If they do not, one of them has lost what it had acknowledged, and no lock can do its work.
func (r *round) stuck(ctx context.Context, finding string) error {
	if err := r.healed(); err != nil { // all servers are to be asked
		return fmt.Errorf("%s: %w", finding, err)
	}
	differ, err := r.compare(ctx)
	if err != nil {
		return fmt.Errorf("%s: compare the servers: %w: %s", finding, err, r.state(ctx))
	}
	if differ != "" {
		r.unknown = fmt.Sprintf("%s: %s: %s", finding, differ, r.state(ctx))
		return nil
	}
	r.violations = append(r.violations, finding+": "+r.state(ctx))
	return nil
}

// compare says how the servers differ about the queue, or "" if they agree: each lists it twice, in turn.
func (r *round) compare(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	var looks [][]string
	for range 2 {
		for i, s := range r.servers {
			names, err := r.queue(ctx, s)
			if err != nil {
				return "", fmt.Errorf("list the queue on server %d: %w", i+1, err)
			}
			looks = append(looks, names)
		}
	}
	return difference(looks[:len(r.servers)], looks[len(r.servers):]), nil
}

// difference finds a node that one server shows in both of its looks, and another server does not show in its look
// between them. As each look follows a sync, and no name comes twice, a node that has only just come, or has gone by
// now, is none.
func difference(first, second [][]string) string {
	looks := slices.Concat(first, second)
	for i := range first {
		for k := i + 1; k < i+len(first); k++ {
			for _, name := range first[i] {
				if slices.Contains(second[i], name) && !slices.Contains(looks[k], name) {
					return fmt.Sprintf("server %d has %s, and server %d has not", i+1, name, k%len(first)+1)
				}
			}
		}
	}
	return ""
}

// queue lists the nodes under the lock's path as the server has them, when it knows all that was committed before.
func (r *round) queue(ctx context.Context, s *servers.ZooKeeper) ([]string, error) {
	session, err := zklock.Connect(ctx, []string{s.Addr()}, silent)
	if err != nil {
		return nil, err
	}
	defer func() { _ = session.Close() }()
	if _, err := session.Conn().Sync(r.lock()); err != nil {
		return nil, err
	}
	names, _, err := session.Conn().Children(r.lock())
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(a[len(a)-10:], b[len(b)-10:]) })
	return names, err
}

// state says which role each server plays and whom it shows in the queue, and what each process did last.
func (r *round) state(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	says := []string{fmt.Sprintf("at %d", now())}
	for i, s := range r.servers {
		mode, err := s.Mode(ctx)
		says = append(says, fmt.Sprintf("server %d: %s %v", i+1, mode, err))
		names, err := r.queue(ctx, s)
		says = append(says, fmt.Sprintf("%d in the queue, the first %s %v", len(names), names[:min(3, len(names))], err))
	}
	for i, m := range r.members {
		records := m.History()
		says = append(says, fmt.Sprintf("process %d, paused %t, last: %+v", i+1, m.paused, records[max(0, len(records)-6):]))
	}
	return strings.Join(says, "\n")
}

func (r *round) prepare(ctx context.Context) (err error) {
	var addrs []string
	for _, s := range r.servers {
		addrs = append(addrs, s.Addr())
	}
	if r.session, err = zklock.Connect(ctx, addrs, silent); err != nil {
		return err
	}
	err = zkclient.MakePath(r.counter(), func(node string) error {
		_, err := r.session.Conn().Create(node, []byte("0"), 0, r.session.ACL())
		return err
	})
	if err != nil {
		return err
	}
	for range processes {
		m := &member{}
		r.members = append(r.members, m)
		w := &m.worker
		*w = contenders{
			Path: r.lock(), SessionTimeout: shortSession, Counter: r.counter(), Goroutines: goroutines, Handoff: r.handoff,
			Hold: 4 * time.Millisecond, LongHold: shortSession * 7 / 4,
		}
		for _, addr := range addrs {
			wire, err := system.NewWire(system.ToZooKeeper, addr)
			if err != nil {
				return err
			}
			m.wires, w.Servers = append(m.wires, wire), append(w.Servers, wire.Addr())
		}
		if err := r.start(ctx, m); err != nil {
			return err
		}
	}
	for _, m := range r.members {
		if _, err := m.Await(0, locks.Granted, patience); err != nil {
			return err
		}
	}
	return nil
}

func (r *round) start(ctx context.Context, m *member) (err error) {
	m.paused = false
	m.Process, err = locks.Start(ctx, worker, m.worker)
	return err
}

// granted returns the number of grants so far.
func (r *round) granted() int {
	histories := slices.Clone(r.histories)
	for _, m := range r.members {
		histories = append(histories, m.History())
	}
	return len(holdings(histories...))
}

// retire keeps the records of a process that has ended.
func (r *round) retire(m *member) {
	records := m.History()
	r.histories = append(r.histories, records)
	if !m.paused {
		r.awake = append(r.awake, holdings(records)...)
	}
}

// fault is one way to disturb. The round's heals repair it.
type fault struct {
	name   string
	strike func() error
}

func (r *round) ways(ctx context.Context) []fault {
	// holding strikes a process with a contender that has just begun to hold for long.
	holding := func(strike func(*member) error) func() error {
		return func() error {
			m := r.anybody()
			if err := holdLong(m.Process, patience); err != nil {
				return err
			}
			return strike(m)
		}
	}
	faults := []fault{
		{"a holder is cut off past its session", holding(func(m *member) error {
			r.later(ctx, func() error { return m.each(func(w *system.Wire) error { return w.Mend(ctx) }) })
			return m.each(func(w *system.Wire) error { return errors.Join(w.Mend(ctx), w.Reset()) })
		})},
		{"connections are cut", func() error { return r.anybody().cut(ctx) }},
		{"a process is killed", func() error {
			m := r.anybody()
			m.Kill()
			r.retire(m)
			return r.start(ctx, m)
		}},
		{"a holder's connections are cut", holding(func(m *member) error { return m.cut(ctx) })},
		{"a holder is paused past its session", holding(func(m *member) error {
			paused := m.Process
			m.paused = true
			r.later(ctx, func() error {
				_ = paused.Resume() // fails when it was killed
				return nil
			})
			return paused.Pause()
		})},
	}
	if len(r.servers) >= 3 {
		ensemble := &servers.Ensemble{Servers: r.servers}
		kill := func(find func(context.Context) (*servers.ZooKeeper, error)) error {
			if err := r.healed(); err != nil { // one server at a time, so that a quorum is left
				return err
			}
			s, err := find(ctx)
			if err != nil {
				return err
			}
			r.later(ctx, func() error { return s.Restart(ctx) })
			return s.Kill()
		}
		faults = append(faults,
			fault{"the leader is killed", func() error { return kill(ensemble.Leader) }},
			fault{"a follower is killed", func() error { return kill(ensemble.Follower) }})
	}
	return faults
}

func (r *round) anybody() *member { return r.members[r.rand.IntN(len(r.members))] }

// later heals after a session has ended.
func (r *round) later(ctx context.Context, heal func() error) {
	done := make(chan error, 1)
	r.heals = append(r.heals, done)
	time.AfterFunc(away, func() {
		if ctx.Err() == nil {
			done <- heal()
		}
		close(done)
	})
}

// healed waits until all that was broken is whole.
func (r *round) healed() error {
	var errs []error
	for _, heal := range r.heals {
		errs = append(errs, <-heal)
	}
	r.heals = nil
	return errors.Join(errs...)
}

// cut breaks the connections; new ones are let through.
func (m *member) cut(ctx context.Context) error {
	return m.each(func(w *system.Wire) error { return errors.Join(w.Cut(), w.Mend(ctx)) })
}

func (m *member) each(do func(*system.Wire) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for _, w := range m.wires {
		errs = append(errs, do(w))
	}
	return errors.Join(errs...)
}

// judge looks at the history, the counter and the nodes that are left.
func (r *round) judge(ctx context.Context) error {
	violated := func(format string, args ...any) {
		r.violations = append(r.violations, fmt.Sprintf(format, args...))
	}
	lost, failed, counted, unknown := 0, 0, 0, 0
	for _, record := range slices.Concat(r.histories...) {
		switch {
		case record.Phase == locks.Lost:
			lost++
		case record.Phase == locks.Failed:
			failed++
		case record.Phase == locks.Counted && record.Err == "":
			counted++
		case record.Phase == locks.Counted:
			unknown++
		}
	}
	unknown += goroutines * len(r.histories) // each may have been killed before it said so
	all := holdings(r.histories...)
	if err := check(all); err != nil {
		violated("%s", err)
	}
	if n := overlaps(r.awake); n > 0 {
		violated("%d holders that were never paused believed that they held beside another", n)
	}
	r.says = fmt.Sprintf("hand-off %d, %d processes: %d grants, %d lost, %d failed; %v", r.handoff, len(r.histories),
		len(all), lost, failed, r.faults)
	if len(all) < r.least && r.unknown == "" {
		if err := r.stuck(ctx, fmt.Sprintf("only %d grants", len(all))); err != nil {
			return err
		}
	}
	if r.unknown != "" {
		return nil
	}
	if lost == 0 {
		violated("no holder lost its lock: the faults had no effect")
	}
	if err := r.leftovers(ctx); err != nil || r.unknown != "" {
		return err
	}
	data, _, err := r.session.Conn().Get(r.counter())
	if err != nil {
		return fmt.Errorf("read the counter: %w", err)
	}
	counter, err := strconv.Atoi(string(data))
	if err != nil {
		return fmt.Errorf("read the counter: %w", err)
	}
	if counter < counted || counter > counted+unknown {
		violated("the counter says %d after it was raised %d times, or up to %d more", counter, counted, unknown)
	}
	return nil
}

// leftovers looks for nodes that outlive their sessions.
func (r *round) leftovers(ctx context.Context) error {
	for deadline := time.Now().Add(3 * shortSession); ; {
		left, _, err := r.session.Conn().Children(r.lock())
		if errors.Is(err, zk.ErrNoNode) { // the server removes the queue, a container, once it is empty
			return nil
		}
		if err != nil {
			return fmt.Errorf("list the queue: %w", err)
		}
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return r.stuck(ctx, fmt.Sprintf("%d nodes are left in the queue, such as %s", len(left), left[0]))
		}
		if err := trial.Sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}
