package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"orderstock/loadtest/act"
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
	acts    *act.Set                   // armed in the lab
	program string                     // the load tester's name in a shell
	jobs    chan func(context.Context) // for Run to start
	closing chan struct{}              // closed when Run ends

	mu     sync.Mutex
	view   *view     // the watched stack; nil while no services run
	down   bool      // the services did not start, and nothing starts them
	stop   func()    // ends the current run; nil if there is none
	meter  *meter    // of the present or last run
	ending *ending   // of the present or last run; nil before the first
	began  time.Time // of the present or last run
	run    *Run
	other  bool // another process fires the run
	live   bool // the books make the headline: from the beginning of a run until it is judged or has failed
	era    int  // rises when a run begins or ends: books read in an earlier era are not shown
	wrong  bool // the books of the run have disagreed

	byHand byHand // orders

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
		program: "bin/loadtest",
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
