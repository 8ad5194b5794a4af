package console

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/system"
	"orderstock/loadtest/tables"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
	"orderstock/pkg/redisdb"
)

// Console watches a stack and fires at it. Its methods are safe for concurrent
// use; only one run goes on at a time.
type Console struct {
	feed    *feed
	player  *tables.Player
	lab     *system.System // nil if the console is attached
	program string         // the load tester's name in a shell
	traces  *Traces
	tracer  *fire.Tracer // of orders by hand, which are always traced
	byHand  byHand       // orders

	ctx     context.Context // of background work; ends when Run ends
	end     context.CancelFunc
	working sync.WaitGroup // background work

	mu    sync.Mutex
	view  *view  // the watched stack; nil while no services run
	down  bool   // the services did not start, and nothing starts them
	stop  func() // ends the present run; nil if there is none
	waits waits
}

// Lab returns a console that owns l: it starts the services of each run and may
// break them. Runs are kept in dir. Callers close l after Run has returned.
func Lab(l *system.System, dir string) (*Console, error) {
	c, err := newConsole(l, dir)
	if err != nil {
		return nil, err
	}
	c.lab = l
	c.feed.set("mode", "lab")
	c.feed.set("can", Can{})
	return c, nil
}

// Attach returns a console for a stack that is already running: it fires and judges, but breaks nothing. Runs are kept
// in dir.
func Attach(target Target, dir string) (*Console, error) {
	c, err := newConsole(system.Attach(target.Target, target.Databases), dir)
	if err != nil {
		return nil, err
	}
	if c.view, err = openView(target); err != nil {
		return nil, err
	}
	c.program = cmp.Or(target.Program, c.program)
	c.feed.set("mode", "attached")
	c.feed.set("can", Can{Play: notHere, Break: notOurs, Flags: notCounted})
	return c, nil
}

const (
	notHere = "The broken variants need a lab: start it with \"make console\"."
	notOurs = "This console did not start these processes, so it does not break them. " +
		"\"make console\" starts a stack that it may break."
	notCounted = "These services do not count their requests to Redis. The ones started by \"make console\" do."
)

func newConsole(at *system.System, dir string) (*Console, error) {
	c := &Console{feed: newFeed(), traces: NewTraces(), program: "bin/loadtest"}
	var err error
	if c.tracer, err = c.traces.tracer(1); err != nil {
		return nil, err
	}
	if c.player, err = tables.NewPlayer(at, dir); err != nil {
		return nil, err
	}
	c.player.Show, c.player.Tracer, c.player.Board.Declared = c.show, c.traces.tracer, c.byHand.declared
	c.ctx, c.end = context.WithCancel(context.Background())
	for section, value := range map[string]any{
		"phase": trial.Idle, "doing": "", "run": nil, "hero": nil, "scene": nil, "compare": nil, "verdict": nil,
		"replicas": []Member{}, "servers": []Member{}, "edges": map[string]int{}, "faults": []trial.Shown{},
		"books": tables.Books{Rows: []tables.BookRow{}}, "statuses": map[string]int64{}, "commits": Commits{},
		"lock": Lock{Holders: []Contender{}, Waiters: []Contender{}}, "runs": c.player.Runs.List(), "recent": []Recent{},
	} {
		c.feed.set(section, value)
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
		err = c.player.StartServices(c.ctx)
		c.idle()
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
	err = errors.Join(err, c.tracer.Close(context.WithoutCancel(ctx)))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.view != nil {
		c.view.close()
		c.view = nil
	}
	return err
}

// current returns the watched stack, or nil while no services run.
func (c *Console) current() *view {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.view
}

// serving returns the watched stack, or the reason why no services run.
func (c *Console) serving() (*view, error) {
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

// Target locates the parts of a stack. The addresses of ZooKeeper and Redis, and the user:password, may be empty.
type Target struct {
	fire.Target
	verify.Databases
	ZooKeeperRoot string
	ZooKeeperAuth string
	Redis         redisdb.Server
	// Partitions is the stock services' number of partitions; 0 is the default.
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
