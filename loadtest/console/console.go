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
	"orderstock/loadtest/system"
	"orderstock/loadtest/trace"
	"orderstock/loadtest/verify"
	"orderstock/pkg/redisdb"
)

// Console watches a stack and fires at it. Its methods are safe for concurrent
// use; only one run goes on at a time.
type Console struct {
	hub     *hub
	runs    *runs
	lab     *system.System // nil if the console is attached
	acts    *act.Set       // armed in the lab
	program string         // the load tester's name in a shell
	traces  *tracer
	byHand  byHand // orders

	ctx     context.Context // of background work; ends when Run ends
	end     context.CancelFunc
	working sync.WaitGroup // background work

	mu      sync.Mutex
	view    *view   // the watched stack; nil while no services run
	down    bool    // the services did not start, and nothing starts them
	plan    *plan   // the present or last one; nil before the first
	stop    func()  // ends the present plan; nil if there is none
	sale    *sale   // that the page shows
	metrics figures // of the services
}

// sale is what the page shows of a run, present or past. The zero value stands for none. A sale that ends is replaced
// by a copy that is not live, so that books read before are known. Console.mu guards the fields below it.
type sale struct {
	meter *meter // nil if this console does not fire
	live  bool   // the books make the headline: from the beginning of a run until it is judged or has failed

	began  time.Time
	wrong  bool    // the books have disagreed
	before figures // the services' metrics before the run
}

// Lab returns a console that owns l: it starts the services of each run and may
// break them. Runs are kept in dir. Callers close l after Run has returned.
func Lab(l *system.System, dir string) (*Console, error) {
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
		traces: traces, hub: newHub(), runs: kept, program: "bin/loadtest", sale: &sale{},
	}
	c.ctx, c.end = context.WithCancel(context.Background())
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
	defer context.AfterFunc(ctx, c.end)()
	var err error
	if c.lab != nil {
		err = c.startFirst(c.ctx)
	}
	if err == nil {
		c.watch(c.ctx)
	}
	if ctx.Err() != nil {
		err = nil
	}
	c.mu.Lock()
	c.end() // no more background work begins
	c.mu.Unlock()
	c.working.Wait()
	err = errors.Join(err, c.traces.close(ctx))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.view != nil {
		c.view.close()
		c.view = nil
	}
	return err
}

// shown returns the sale that the page shows.
func (c *Console) shown() *sale {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sale
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
	if c.sale.began.IsZero() {
		return 0
	}
	return time.Since(c.sale.began).Milliseconds()
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
