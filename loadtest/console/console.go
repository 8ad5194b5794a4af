package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"sync"
	"time"

	"orderstock/loadtest/act"
	"orderstock/loadtest/catalogue"
	"orderstock/loadtest/faults"
	"orderstock/loadtest/fire"
	"orderstock/loadtest/lab"
	"orderstock/loadtest/trace"
	"orderstock/loadtest/verify"
	"orderstock/pkg/redisdb"
)

// Console watches a stack and fires at it. Its methods are safe for concurrent
// use; only one run goes on at a time.
type Console struct {
	hub     *hub
	runs    *runs
	lab     *lab.Lab                   // nil if the console is attached
	acts    *act.Set                   // what is broken in the lab
	program string                     // the load tester's name in a shell
	jobs    chan func(context.Context) // for Run to start
	closing chan struct{}              // closed when Run ends

	mu     sync.Mutex
	view   *view         // the watched stack; nil while no services run
	down   bool          // the services did not start, and nothing starts them
	stop   func()        // ends the current run; nil if there is none
	meter  *meter        // of the present or last run
	ended  chan struct{} // closed when the present or last run is judged; nil before the first
	result *Verdict      // of the last run
	failed error         // why the last run has no verdict
	began  time.Time     // of the present or last run
	run    *Run
	other  bool               // another process fires the run
	live   bool               // the books make the headline: from the beginning of a run until it is judged or has failed
	era    int                // rises when a run begins or ends: books read in an earlier era are not shown
	wrong  bool               // the books of the run have disagreed
	rates  map[string]Compare // of the faults that cost only time, by letter
	caught map[string]uint64  // by letter: the last seed that made the broken variant go wrong

	placing int             // orders placed by hand that are not answered yet
	placed  map[string]bool // the ids of the answered ones
	// handKeys are the keys of orders placed by hand, answered or not.
	handKeys []string

	metrics, metricsBefore figures // of the services: now, and before the run

	traces *tracer
}

// Lab returns a console that owns l: it starts the services of each run and may
// break them. Runs are kept in dir. Callers close l after Run has returned.
func Lab(l *lab.Lab, dir string) (*Console, error) {
	c, err := newConsole(dir)
	if err != nil {
		return nil, err
	}
	c.own(l)
	c.hub.set(secMode, "lab")
	c.hub.set(secCan, Can{})
	return c, nil
}

// Attach returns a console for a stack that is already running: it fires and judges, but breaks nothing. Runs are kept
// in dir.
func Attach(target Target, dir string) (*Console, error) {
	s, err := openView(target)
	if err != nil {
		return nil, err
	}
	c, err := newConsole(dir)
	if err != nil {
		s.close()
		return nil, err
	}
	c.view, c.program = s, cmp.Or(target.Program, c.program)
	c.hub.set(secMode, "attached")
	c.hub.set(secCan, Can{Play: notHere, Break: notOurs, Flags: notCounted})
	return c, nil
}

const (
	notHere = "The broken variants need a lab: start it with \"make console\"."
	notOurs = "This console did not start these processes, so it does not break them. " +
		"\"make console\" starts a stack that it may break."
	notCounted = "These services do not count their requests to Redis. The ones started by \"make console\" do."
)

func newConsole(dir string) (*Console, error) {
	kept, err := openRuns(filepath.Join(dir, "runs"))
	if err != nil {
		return nil, err
	}
	traces, err := newTracer()
	if err != nil {
		return nil, err
	}
	c := &Console{
		traces: traces, hub: newHub(), runs: kept, closing: make(chan struct{}), jobs: make(chan func(context.Context)),
		rates:   ratesOf(kept),
		program: "bin/loadtest",
		caught:  map[string]uint64{},
		placed:  map[string]bool{},
	}
	c.own(nil)
	for section, value := range map[string]any{
		secPhase: phaseIdle, secDoing: "", secRun: nil, secHero: nil, secCompare: nil,
		secReplicas: []Member{}, secServers: []Member{}, secEdges: map[string]int{}, secFaults: []act.Strike{},
		secBooks: Books{Rows: []BookRow{}}, secStatuses: map[string]int64{}, secCommits: Commits{},
		secLock: Lock{Holders: []Contender{}, Waiters: []Contender{}}, secExpired: 0, secVerdict: nil,
		secRuns: kept.list(), secRecent: []trace.Recent{},
	} {
		c.hub.set(section, value)
	}
	return c, nil
}

// Run watches the stack, and plays the requested runs, until ctx ends. It returns when everything that it started has
// ended, and ends the streams of open pages. In a lab it starts the services first, so that the page has something to
// show; its error means that they do not start. Call it once.
func (c *Console) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		working sync.WaitGroup
		failed  = make(chan error, 1)
	)
	working.Go(func() {
		if c.lab != nil {
			if err := c.startFirst(ctx); err != nil {
				failed <- err
				return
			}
		}
		c.watch(ctx)
	})
	var err error
	for err == nil && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case err = <-failed:
		case job := <-c.jobs:
			working.Go(func() { job(ctx) })
		}
	}
	cancel()
	close(c.closing)
	working.Wait()
	err = errors.Join(err, c.traces.close(ctx))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.view != nil {
		c.view.close()
		c.view = nil
	}
	return err
}

// spawn has Run start job, with a context that ends with Run's. It returns
// false if Run has ended.
func (c *Console) spawn(job func(context.Context)) bool {
	select {
	case c.jobs <- job:
		return true
	case <-c.closing:
		return false
	}
}

// startFirst starts the services unmodified, unless a run has already started its own.
func (c *Console) startFirst(ctx context.Context) error {
	return c.acts.Alone(func() error {
		if c.current() != nil {
			return nil
		}
		return c.start(ctx, catalogue.Variant{})
	})
}

// startServices restarts the lab's services as a variant, on empty databases. It restarts dead servers first, and
// ends all faults.
func (c *Console) startServices(ctx context.Context, v catalogue.Variant) error {
	return c.acts.Alone(func() error { return c.start(ctx, v) })
}

// start is startServices while no act is armed or healed.
func (c *Console) start(ctx context.Context, v catalogue.Variant) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("start services: %w", err)
		}
	}()
	if err := c.lab.RepairServers(ctx); err != nil {
		return err
	}
	c.acts.Forget()
	c.mu.Lock()
	before := c.view
	c.view, c.down = nil, false
	c.showStarted(stateStarting)
	c.mu.Unlock()
	if before != nil {
		before.close()
	}
	defer func() {
		if err != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.down = true
			c.showStarted(stateDead)
		}
	}()
	c.hub.set(secPhase, phaseStarting)
	c.hub.set(secDoing, "starting two order and two stock services on empty databases")
	env := maps.Clone(faults.Env)
	maps.Copy(env, v.Env)
	maps.Copy(env, c.traces.env)
	env["MUTANT"] = v.Mutants
	expired, err := c.lab.ExpiredSessions(ctx)
	if err != nil {
		return err
	}
	open, err := c.lab.OpenSessions(ctx) // of the services that are killed now
	if err != nil {
		return err
	}
	if err := c.lab.StartServices(ctx, v.Strategy, env); err != nil {
		return err
	}
	s, err := labView(c.lab, v, env)
	if err != nil {
		return err
	}
	s.expired = expired + open
	c.mu.Lock()
	c.view = s
	if c.stop == nil {
		c.hub.set(secPhase, phaseIdle)
	}
	c.mu.Unlock()
	c.hub.set(secDoing, "")
	return nil
}

// showStarted shows the replicas that startServices starts, all in one state; mu is held.
func (c *Console) showStarted(state string) {
	var all []Member
	for _, kind := range []string{"order", "stock"} {
		for n := range 2 {
			all = append(all, Member{Name: fmt.Sprintf("%s-%d", kind, n+1), Kind: kind, State: state})
		}
	}
	c.hub.set(secReplicas, all)
}

// running returns the watched stack, or the reason why no services run.
func (c *Console) running() (*view, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.view != nil:
		return c.view, nil
	case c.down:
		return nil, conflict("no services run: play or fire to start them")
	}
	return nil, conflict("the services are starting; try again once they run")
}

// current returns the watched stack, or nil while no services run.
func (c *Console) current() *view {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.view
}

// sinceMS returns the time since the run began.
func (c *Console) sinceMS() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.began.IsZero() {
		return 0
	}
	return time.Since(c.began).Milliseconds()
}

// say adds a line to the log of events.
func (c *Console) say(kind, format string, args ...any) {
	c.hub.entry(Entry{At: time.Now().UTC(), TMS: c.sinceMS(), Kind: kind, Text: fmt.Sprintf(format, args...)})
}

// Target locates the parts of a stack. ZooKeeper, its user:password and the addresses of Redis may be empty.
type Target struct {
	fire.Target
	verify.Databases
	ZooKeeper     []string
	ZooKeeperRoot string
	ZooKeeperAuth string
	Redis         redisdb.Server
	// Strategy is the stock services' deduction strategy, and Partitions their number of partitions; the zero values are
	// their defaults.
	Strategy   string
	Partitions int
	// Program is the load tester's name in the commands shown. Default: bin/loadtest.
	Program string
	// Watched are the replicas to show. Default: the services that orders are fired at.
	Watched []Watched
}

// Watched locates replicas of a service.
type Watched struct {
	Kind string // "order" or "stock"
	// URL and Ops are the addresses of a replica and of its /metrics. Ops may be "". A host name with several addresses
	// stands for that many replicas.
	URL, Ops string
}
