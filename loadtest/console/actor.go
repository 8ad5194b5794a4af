package console

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"orderstock/loadtest/faults/faultpoint"
	"orderstock/loadtest/lab"
)

// Action breaks one thing, or heals it.
type Action struct {
	Action string `json:"action"`
	// Target is a replica ("stock-1") or a server ("mysql"), as the action needs.
	Target string `json:"target"`
	// Step and When are the point of the protocol where an arm action strikes.
	Step string `json:"step"`
	When string `json:"when"`
	// Wire is the server at the other end of the target's connections: mysql, redis, zookeeper or stock.
	Wire string `json:"wire"`
	// AfterMS is when a scenario acts, in milliseconds after the first order.
	AfterMS int `json:"after_ms"`
}

// The targets of an action.
const (
	toReplica = "replica"
	toServer  = "server"
	toWire    = "wire"
	toStep    = "step" // a replica, and before or after which step
	toNothing = "none"
)

// actionInfo describes an action for the form.
type actionInfo struct {
	Name   string `json:"name"`
	Says   string `json:"says"`
	Target string `json:"target"`

	do func(*Console, context.Context, Action) (*strikeResult, error)
}

// strikeResult is the effect of an action. heal undoes a lasting one; fired, if not nil, counts its strikes. Without
// fired it was seen to strike before it returned.
type strikeResult struct {
	heal  remedy
	fired func(context.Context) (int, error)
}

// remedy undoes the lasting effect of a strike; at is its place in the order of remedies.
type remedy struct {
	at int
	do func(context.Context) error
}

// The order of remedies: a replica is ready only once it reaches the servers.
const (
	healServers = iota
	healLinks
	healReplicas
)

// slowBy is how much a slow link delays each direction.
const slowBy = 200 * time.Millisecond

var actions []actionInfo

func init() { // the functions below read the list
	actions = []actionInfo{
		{"kill", "kill the process", toReplica, (*Console).kill},
		{"restart", "start it again, or stop it first if it still runs", toReplica, (*Console).restart},
		{"pause", "stop the process in its tracks; its connections stay open", toReplica, (*Console).pause},
		{"resume", "let a paused process go on", toReplica, (*Console).resume},
		{"kill-server", "kill the server; healing starts it again", toServer, (*Console).killServer},
		{"restart-server", "kill the server and start it again", toServer, (*Console).restartServer},
		{"pause-server", "stop the server in its tracks", toServer, (*Console).pauseServer},
		{"flush-redis", "delete everything in Redis", toNothing, (*Console).flushRedis},
		{
			"expire-sessions", "cut every replica off from ZooKeeper, so that its session expires; healing ends it",
			toNothing, (*Console).expireSessions,
		},
		{"duplicate", "deliver each request between the services twice", toNothing, (*Console).duplicate},
		{"cut", "close the connections and refuse new ones", toWire, wireAction((*lab.Wire).Cut)},
		{"slow", "delay each direction by 200 ms", toWire, wireAction(func(w *lab.Wire) error { return w.Slow(slowBy) })},
		{"lose-replies", "let requests through and drop what comes back", toWire, wireAction((*lab.Wire).LoseReplies)},
		{"lose-requests", "drop sent data; the sender gets no error", toWire, wireAction((*lab.Wire).LoseRequests)},
		{"reset", "answer every connection with a reset", toWire, wireAction((*lab.Wire).Reset)},
		{"arm-kill", "kill the process at this step", toStep, armAction("kill", 1)},
		{"arm-pause", "pause the process at this step", toStep, armAction("stop", 1)},
		{"arm-error", "fail this step three times", toStep, armAction("error", 3)},
		{"arm-delay", "delay this step by 1 s three times", toStep, armAction("delay", 3)},
	}
}

// Act runs an action now, records it as a Strike and describes it. The error says why it is refused.
func (c *Console) Act(ctx context.Context, a Action) (string, error) {
	if c.lab == nil {
		return "", conflict("%s", notOurs)
	}
	if err := a.known(); err != nil {
		return "", err
	}
	i := slices.Index(actionNames(), a.Action)
	if _, err := c.running(); err != nil {
		return "", err
	}
	c.acting.Lock()
	defer c.acting.Unlock()
	if armed := c.armedAt(a.Target); armed != nil && a.Step != "" {
		return "", conflict("a fault is armed already: %s; a replica keeps one, so heal first", armed.What)
	}
	s := c.noteArmed(a)
	result, err := actions[i].do(c, ctx, a)
	if err != nil {
		c.forget(s)
		return "", err
	}
	text := a.words()
	if result != nil && result.fired != nil {
		c.noteCounted(s)
		c.say("fault", "armed: %s", text)
		c.spawn(func(ctx context.Context) { c.awaitStrike(ctx, s, result.fired) })
	} else {
		c.noteFired(s, 1)
		c.say("fault", "%s", text)
	}
	if result != nil && result.heal.do != nil {
		c.mu.Lock()
		c.heals[s] = result.heal
		c.mu.Unlock()
	} else if result == nil || result.fired == nil {
		c.noteHealed(s)
	}
	return text, nil
}

// known returns an error if there is no such action.
func (a Action) known() error {
	if !slices.Contains(actionNames(), a.Action) {
		return invalid("there is no action %q; there are %s", a.Action, strings.Join(actionNames(), ", "))
	}
	return nil
}

func actionNames() []string {
	names := make([]string, len(actions))
	for i, a := range actions {
		names[i] = a.Name
	}
	return names
}

// words describes the action for the log.
func (a Action) words() string {
	text := a.Action
	if a.Step != "" {
		text += " " + a.When + " " + a.Step
	}
	if a.Wire != "" {
		text += " the connection to " + a.Wire
	}
	if a.Target != "" {
		text += " at " + a.Target
	}
	return text
}

// String returns the action as ParseAction reads it.
func (a Action) String() string {
	words := []string{(time.Duration(a.AfterMS) * time.Millisecond).String(), a.Action}
	if a.Target != "" {
		words = append(words, a.Target)
	}
	if a.Wire != "" {
		words = append(words, "to", a.Wire)
	}
	if a.Step != "" {
		words = append(words, a.When, a.Step)
	}
	return strings.Join(words, " ")
}

// ParseAction reads a time after the first order and an action: "1s pause stock-1", "500ms cut stock-2 to mysql", "2s
// arm-kill stock-1 before commit", "3s flush-redis".
func ParseAction(text string) (Action, error) {
	words := strings.Fields(text)
	wrong := func() (Action, error) {
		return Action{}, invalid("%q: want a time, an action and its target, such as \"1s pause stock-1\", "+
			"\"1s cut stock-1 to mysql\" or \"1s arm-kill stock-1 before commit\"; the actions are %s",
			text, strings.Join(actionNames(), ", "))
	}
	if len(words) < 2 || !slices.Contains(actionNames(), words[1]) {
		return wrong()
	}
	after, err := time.ParseDuration(words[0])
	if err != nil || after < 0 {
		return wrong()
	}
	a := Action{Action: words[1], AfterMS: int(after.Milliseconds())}
	if len(words) > 2 {
		a.Target = words[2]
	}
	switch rest := words[min(len(words), 3):]; {
	case len(rest) == 0:
	case len(rest) == 2 && rest[0] == "to":
		a.Wire = rest[1]
	case len(rest) == 2 && (rest[0] == string(faultpoint.Before) || rest[0] == string(faultpoint.After)):
		a.When, a.Step = rest[0], rest[1]
	default:
		return wrong()
	}
	return a, nil
}

func (c *Console) replica(name string) (*lab.Replica, error) {
	var names []string
	for _, r := range c.lab.Replicas() {
		if r.Name() == name {
			return r, nil
		}
		names = append(names, r.Name())
	}
	return nil, invalid("there is no replica %q; there are %s", name, strings.Join(names, ", "))
}

// process is what can be done to a replica or a server.
type process interface {
	lasting
	Kill() error
	Pause() error
}

func (c *Console) server(name string) (process, error) {
	switch name {
	case "mysql":
		return c.lab.MySQL, nil
	case "redis":
		return c.lab.Redis, nil
	case "zookeeper":
		return c.lab.ZooKeeper, nil
	}
	return nil, invalid("there is no server %q; there are mysql, redis, zookeeper", name)
}

func (c *Console) kill(_ context.Context, a Action) (*strikeResult, error) {
	r, err := c.replica(a.Target)
	if err != nil {
		return nil, err
	}
	if !r.Running() {
		return nil, conflict("%s is dead already", a.Target)
	}
	return &strikeResult{heal: remedy{healReplicas, func(ctx context.Context) error { return restart(ctx, r) }}}, r.Kill()
}

func (c *Console) restart(ctx context.Context, a Action) (*strikeResult, error) {
	r, err := c.replica(a.Target)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, restartWithin)
	defer cancel()
	if err := r.Restart(ctx); err != nil {
		return nil, err
	}
	c.noteEnded(a.Target, endsByRestart)
	return nil, nil
}

func (c *Console) pause(_ context.Context, a Action) (*strikeResult, error) {
	r, err := c.replica(a.Target)
	if err != nil {
		return nil, err
	}
	if !r.Running() {
		return nil, conflict("%s is dead", a.Target)
	}
	return &strikeResult{heal: remedy{healReplicas, func(ctx context.Context) error { return restart(ctx, r) }}}, r.Pause()
}

func (c *Console) resume(_ context.Context, a Action) (*strikeResult, error) {
	r, err := c.replica(a.Target)
	if err != nil {
		return nil, err
	}
	if !paused(r.Pid()) {
		return nil, conflict("%s is not paused", a.Target)
	}
	if err := r.Resume(); err != nil {
		return nil, err
	}
	c.noteEnded(a.Target, endsByResume)
	return nil, nil
}

func (c *Console) killServer(_ context.Context, a Action) (*strikeResult, error) {
	p, err := c.server(a.Target)
	if err != nil {
		return nil, err
	}
	return &strikeResult{heal: remedy{healServers, func(ctx context.Context) error { return restart(ctx, p) }}}, p.Kill()
}

func (c *Console) restartServer(ctx context.Context, a Action) (*strikeResult, error) {
	p, err := c.server(a.Target)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(p.Kill(), p.Restart(ctx)); err != nil {
		return nil, err
	}
	c.noteEnded(a.Target, endsByRestart)
	return nil, nil
}

func (c *Console) pauseServer(_ context.Context, a Action) (*strikeResult, error) {
	p, err := c.server(a.Target)
	if err != nil {
		return nil, err
	}
	return &strikeResult{heal: remedy{healServers, func(ctx context.Context) error { return restart(ctx, p) }}}, p.Pause()
}

func (c *Console) flushRedis(ctx context.Context, _ Action) (*strikeResult, error) {
	_, err := c.lab.FlushRedis(ctx)
	return nil, err
}

func (c *Console) expireSessions(ctx context.Context, _ Action) (*strikeResult, error) {
	before, err := c.lab.ExpiredSessions(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range c.lab.Replicas() {
		if err := r.EachWire(lab.ToZooKeeper, (*lab.Wire).Cut); err != nil {
			return nil, err
		}
	}
	return &strikeResult{
		heal: remedy{healLinks, func(ctx context.Context) error {
			var errs []error
			for _, r := range c.lab.Replicas() {
				errs = append(errs, r.EachWire(lab.ToZooKeeper, func(w *lab.Wire) error { return w.Mend(ctx) }))
			}
			return errors.Join(errs...)
		}},
		fired: func(ctx context.Context) (int, error) {
			n, err := c.lab.ExpiredSessions(ctx)
			return n - before, err
		},
	}, nil
}

func (c *Console) duplicate(context.Context, Action) (*strikeResult, error) {
	doubled := func() (n int) {
		for _, d := range c.lab.Duplicators {
			n += d.Doubled()
		}
		return n
	}
	before := doubled()
	for _, d := range c.lab.Duplicators {
		d.Switch(true)
	}
	return &strikeResult{
		heal: remedy{healLinks, func(context.Context) error {
			for _, d := range c.lab.Duplicators {
				d.Switch(false)
			}
			return nil
		}},
		fired: func(context.Context) (int, error) { return doubled() - before, nil },
	}, nil
}

func wireAction(do func(*lab.Wire) error) func(*Console, context.Context, Action) (*strikeResult, error) {
	return func(c *Console, _ context.Context, a Action) (*strikeResult, error) {
		r, err := c.replica(a.Target)
		if err != nil {
			return nil, err
		}
		if len(r.Wires[a.Wire]) == 0 {
			return nil, invalid("%s has no connection to %q", a.Target, a.Wire)
		}
		struck := func() (n int) {
			for _, w := range r.Wires[a.Wire] {
				n += w.Struck()
			}
			return n
		}
		before := struck()
		return &strikeResult{
			heal: remedy{healLinks, func(ctx context.Context) error {
				return r.EachWire(a.Wire, func(w *lab.Wire) error { return w.Mend(ctx) })
			}},
			fired: func(context.Context) (int, error) { return struck() - before, nil },
		}, r.EachWire(a.Wire, do)
	}
}

func armAction(what string, times int) func(*Console, context.Context, Action) (*strikeResult, error) {
	return func(c *Console, ctx context.Context, a Action) (*strikeResult, error) {
		r, err := c.replica(a.Target)
		if err != nil {
			return nil, err
		}
		rule := lab.Rule{
			Step: faultpoint.Step(a.Step), When: faultpoint.When(a.When),
			Action: what, Times: times, DelayMS: 1000,
		}
		if !slices.Contains(faultpoint.Steps, rule.Step) {
			return nil, invalid("there is no step %q", a.Step)
		}
		if rule.When != faultpoint.Before && rule.When != faultpoint.After {
			return nil, invalid("when %q: want before or after", a.When)
		}
		before, err := c.lab.Fired(rule)
		if err != nil {
			return nil, err
		}
		return &strikeResult{
			heal: remedy{healReplicas, func(ctx context.Context) error { return restartReplica(ctx, r) }},
			fired: func(context.Context) (int, error) {
				n, err := c.lab.Fired(rule)
				return n - before, err
			},
		}, r.Arm(ctx, rule)
	}
}
