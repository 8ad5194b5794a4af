package locks

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"orderstock/loadtest/system"
	"orderstock/loadtest/trial"
	"orderstock/pkg/servers"
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

// Chaos disturbs processes that contend for one lock of package zklock, and checks the history of their grants: mutual
// exclusion as ZooKeeper sees it, rising tokens, and a counter that is raised under the lock.
type Chaos struct {
	// Servers are the ZooKeeper servers. Three of them or more form an ensemble, whose members are killed as well.
	Servers []*servers.ZooKeeper
	Root    string        // path below which nothing else happens
	Length  time.Duration // of all rounds; each strikes every fault once, however short
	Seed    uint64
	Grants  int   // of a round, at least
	Handoff []int // hand-overs within a process, by rounds in turns; 1 turns them off

	// Worker is the command line of a process that calls [Work].
	Worker []string
	// Watch is called for each round that has ended. It may be nil.
	Watch func(Round)
}

// Round is at most a minute of faults, on its path.
type Round struct {
	Handoff   int            `json:"handoff"`
	LengthS   float64        `json:"length_s"`
	Processes int            `json:"processes"`
	Faults    map[string]int `json:"faults"`
	Grants    int            `json:"grants"`
	Lost      int            `json:"lost"`    // locks lost before their release
	Failed    int            `json:"failed"`  // acquisitions that ended without a grant
	Counter   int            `json:"counter"` // in the end
	Counted   int            `json:"counted"` // as the contenders say
	Unknown   int            `json:"unknown"` // raised or not
	// Violations says what does not hold. It is empty if all does.
	Violations []string `json:"violations,omitempty"`
}

// Run disturbs for the configured time, in rounds, and returns them. A round with violations is the last. The error is
// for what kept it from judging.
func (cfg Chaos) Run(ctx context.Context) ([]Round, error) {
	if cfg.Length <= 0 || len(cfg.Servers) == 0 || cfg.Grants <= 0 || len(cfg.Handoff) == 0 {
		return nil, errors.New("chaos needs a length, a server, a number of grants and one of hand-overs")
	}
	var rounds []Round
	random := rand.New(rand.NewPCG(cfg.Seed, cfg.Seed))
	length := min(longest, cfg.Length/time.Duration(len(cfg.Handoff)))
	for begun := time.Duration(0); begun < cfg.Length; begun += length {
		n := len(rounds)
		r := &round{cfg: cfg, rand: random, path: fmt.Sprintf("%s/round-%d", cfg.Root, n+1)}
		r.Handoff, r.Faults = cfg.Handoff[n%len(cfg.Handoff)], map[string]int{}
		if err := r.run(ctx, length); err != nil {
			return rounds, fmt.Errorf("round %d: %w", n+1, err)
		}
		rounds = append(rounds, r.Round)
		if cfg.Watch != nil {
			cfg.Watch(r.Round)
		}
		if len(r.Violations) > 0 {
			break
		}
	}
	return rounds, nil
}

type round struct {
	Round

	cfg     Chaos
	rand    *rand.Rand
	path    string
	session *zklock.Session // to look with, past the wires
	members []*member
	heals   []chan error

	histories [][]Record
	awake     []Holding // of processes that were never paused
}

// member is a process of contenders, with one wire to each server.
type member struct {
	*Process

	worker Worker

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
	if err := r.prepare(ctx); err != nil {
		return err
	}
	begin := time.Now()
	faults := r.faults(ctx)
	for i := 0; time.Since(begin) < length || i < len(faults) || r.granted() < r.cfg.Grants; i++ {
		if time.Since(begin) > length+patience {
			break // the judgement says so
		}
		f := faults[i%len(faults)]
		if err := f.strike(); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		r.Faults[f.name]++
		if err := trial.Sleep(ctx, time.Duration(r.rand.Int64N(int64(time.Second)))); err != nil {
			return err
		}
	}
	if err := r.healed(); err != nil {
		return err
	}
	for _, m := range r.members { // everybody goes on
		if _, err := m.Await(len(m.History()), Granted, patience); err != nil {
			r.Violations = append(r.Violations, "after the faults, "+err.Error())
		}
	}
	for _, m := range r.members {
		if err := m.Finish(); err != nil {
			r.Violations = append(r.Violations, err.Error())
		}
		r.retire(m)
	}
	r.LengthS = time.Since(begin).Seconds()
	return r.judge(ctx)
}

func (r *round) prepare(ctx context.Context) (err error) {
	var addrs []string
	for _, s := range r.cfg.Servers {
		addrs = append(addrs, s.Addr())
	}
	if r.session, err = zklock.Connect(ctx, addrs); err != nil {
		return err
	}
	err = zklock.MakePath(r.counter(), func(node string) error {
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
		*w = Worker{
			Path: r.lock(), SessionTimeout: shortSession, Counter: r.counter(), Goroutines: goroutines, Handoff: r.Handoff,
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
		if _, err := m.Await(0, Granted, patience); err != nil {
			return err
		}
	}
	return nil
}

func (r *round) start(ctx context.Context, m *member) (err error) {
	r.Processes++
	m.Process, err = Start(ctx, r.cfg.Worker, m.worker)
	return err
}

// granted returns the number of grants so far.
func (r *round) granted() int {
	histories := slices.Clone(r.histories)
	for _, m := range r.members {
		histories = append(histories, m.History())
	}
	return len(Holdings(histories...))
}

// retire keeps the records of a process that has ended.
func (r *round) retire(m *member) {
	records := m.History()
	r.histories = append(r.histories, records)
	if !m.paused {
		r.awake = append(r.awake, Holdings(records)...)
	}
}

// fault is one way to disturb. The round's heals repair it.
type fault struct {
	name   string
	strike func() error
}

func (r *round) faults(ctx context.Context) []fault {
	// holding strikes a process with a contender that has just begun to hold for long.
	holding := func(strike func(*member) error) func() error {
		return func() error {
			m := r.anybody()
			if err := m.HoldLong(patience); err != nil {
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
			r.later(ctx, func() error {
				_ = paused.Resume() // fails when it was killed
				return nil
			})
			return paused.Pause()
		})},
	}
	if len(r.cfg.Servers) >= 3 {
		ensemble := &servers.Ensemble{Servers: r.cfg.Servers}
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
		r.Violations = append(r.Violations, fmt.Sprintf(format, args...))
	}
	for _, record := range slices.Concat(r.histories...) {
		switch {
		case record.Phase == Lost:
			r.Lost++
		case record.Phase == Failed:
			r.Failed++
		case record.Phase == Counted && record.Err == "":
			r.Counted++
		case record.Phase == Counted:
			r.Unknown++
		}
	}
	r.Unknown += goroutines * len(r.histories) // each may have been killed before it said so
	all := Holdings(r.histories...)
	if err := Check(all); err != nil {
		violated("%s", err)
	}
	r.Grants = len(all)
	if n := Overlaps(r.awake); n > 0 {
		violated("%d holders that were never paused believed that they held beside another", n)
	}
	if r.Grants < r.cfg.Grants {
		violated("only %d grants", r.Grants)
	}
	if r.Lost == 0 {
		violated("no holder lost its lock: the faults had no effect")
	}
	data, _, err := r.session.Conn().Get(r.counter())
	if err != nil {
		return fmt.Errorf("read the counter: %w", err)
	}
	if r.Counter, err = strconv.Atoi(string(data)); err != nil {
		return fmt.Errorf("read the counter: %w", err)
	}
	if r.Counter < r.Counted || r.Counter > r.Counted+r.Unknown {
		violated("the counter says %d after it was raised %d times, or up to %d more", r.Counter, r.Counted, r.Unknown)
	}
	return r.leftovers(ctx, violated)
}

// leftovers looks for nodes that outlive their sessions.
func (r *round) leftovers(ctx context.Context, violated func(string, ...any)) error {
	for deadline := time.Now().Add(3 * shortSession); ; {
		left, _, err := r.session.Conn().Children(r.lock())
		if err != nil {
			return fmt.Errorf("list the queue: %w", err)
		}
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			violated("%d nodes are left in the queue, such as %s", len(left), left[0])
			return nil
		}
		if err := trial.Sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}
