package trial

import (
	"cmp"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"orderstock/loadtest/faultpoint"
	"orderstock/loadtest/system"
	"orderstock/pkg/httpapi"
)

// Action breaks one thing, or heals it.
type Action struct {
	// Action is the name of one of Kinds.
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

	// For is how long it lasts. Default: as its kind, for most until the load is over.
	For time.Duration `json:"-"`
	// Fault names the fault that it is a part of. A fault has struck if one of its actions has. Default: the action alone.
	Fault string `json:"-"`
	// Skip lets up to two arrivals at a step pass, drawn by the seed.
	Skip bool `json:"-"`
	// Reach are rules of the order services that make orders pass a step that they would seldom pass otherwise.
	Reach []faultpoint.Rule `json:"-"`
	// Outage is how long connections are refused after a lost reply.
	Outage time.Duration `json:"-"`
	// Outlast lets a delayed step wait until its caller has given up.
	Outlast bool `json:"-"`
	// OtherStocks are rules of the other stock services from the end of For on. A paused stock service sleeps on until all
	// have struck. A hold among them lasts until it has done its step, and another one has committed if it can.
	OtherStocks []faultpoint.Rule `json:"-"`
	// EndsLoad ends the load once the action is healed. The load's own end is only a bound.
	EndsLoad bool `json:"-"`
	// Then makes AfterMS, of this action and of those behind it, count from when all actions before it are over.
	Then bool `json:"-"`
	// Optional says that the run goes on if the action fails, or if the load is over before its time (Act.Err), and
	// proves something though it never strikes.
	Optional bool `json:"-"`
	// NoWait says that the action is over once it is healed, though the system may not serve yet.
	NoWait bool `json:"-"`

	skip int // arrivals
}

// At returns the action at another time after the first order.
func (a Action) At(after time.Duration) Action {
	a.AfterMS = int(after.Milliseconds())
	return a
}

// Any and Every, at the end of a target, are any replica of a service, drawn by the seed, and every one.
const (
	Any   = "?"
	Every = "*"
)

// drawn returns the action with what the seed decides: which of two replicas it strikes, and at which arrival.
func (a Action) drawn(rng *rand.Rand) Action {
	if service, any := strings.CutSuffix(a.Target, Any); any {
		a.Target = service + strconv.Itoa(1+rng.IntN(2))
	}
	if n := rng.IntN(3); a.Skip {
		a.skip = n
	}
	return a
}

// armedFirst reports whether it is armed before others of the same time. Adding a fault to a connection while another
// act closes it can block for ever, and a flush has to meet the flags of orders that other acts hold up.
func (a Action) armedFirst() bool {
	return a.Wire != "" && a.Step == "" || a.Action == "keep-flushing-redis"
}

// inOrder sorts the actions by their time and, of one time, puts the ones armed first in front. If an action counts
// from the ones before it, all stay as they are.
func inOrder(all []Action) []Action {
	if slices.ContainsFunc(all, func(a Action) bool { return a.Then }) {
		return all
	}
	rank := map[bool]int{false: 1}
	return slices.SortedStableFunc(slices.Values(all), func(a, b Action) int {
		return cmp.Or(cmp.Compare(a.AfterMS, b.AfterMS), cmp.Compare(rank[a.armedFirst()], rank[b.armedFirst()]))
	})
}

// silencing lists the actions that kill, stop or pause services, whose ZooKeeper sessions end or fall silent then.
var silencing = []string{"kill", "restart", "pause", "expire-sessions", "arm-kill", "arm-pause", "rolling-restart"}

// silences reports whether the action may end or silence a ZooKeeper session. The session's nodes, among them locks,
// stay for its timeout after it was heard last.
func (a Action) silences() bool {
	p := Point{}
	if a.atStep() {
		p = Points[faultpoint.Step(a.Step)]
	}
	return slices.Contains(silencing, a.Action) ||
		strings.Contains(strings.Join([]string{a.Action, a.Target, a.Wire, p.Wire}, " "), system.ToZooKeeper)
}

// Known returns an error if there is no such action.
func (a Action) Known() error {
	if kindOf(a.Action) == nil {
		return invalid("there is no action %q; there are %s", a.Action, names())
	}
	return nil
}

// What describes the action without its target.
func (a Action) What() string {
	text := a.Action
	if a.Step != "" {
		text += " " + a.When + " " + a.Step
	}
	if a.Wire != "" {
		text += " the connection to " + a.Wire
	}
	return text
}

// Words describes the action for a log.
func (a Action) Words() string {
	if a.Target == "" {
		return a.What()
	}
	return a.What() + " at " + a.Target
}

// atStep reports whether it strikes at a step of the protocol.
func (a Action) atStep() bool { return slices.Contains(Whens, faultpoint.When(a.When)) }

// String returns the action as Parse reads it.
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
	if a.For > 0 {
		words = append(words, "for", a.For.String())
	}
	return strings.Join(words, " ")
}

// Parse reads a time after the first order, an action, and how long it lasts if not until the load is over: "1s pause
// stock-1", "500ms cut stock-2 to mysql for 2s", "2s arm-kill stock-1 before commit", "3s flush-redis".
func Parse(text string) (Action, error) {
	words := strings.Fields(text)
	wrong := func() (Action, error) {
		return Action{}, invalid("%q: want a time, an action and its target, such as \"1s pause stock-1\", "+
			"\"1s cut stock-1 to mysql for 2s\" or \"1s arm-kill stock-1 before commit\"; the actions are %s", text, names())
	}
	if len(words) < 2 || kindOf(words[1]) == nil {
		return wrong()
	}
	after, err := time.ParseDuration(words[0])
	if err != nil || after < 0 {
		return wrong()
	}
	a := Action{Action: words[1], AfterMS: int(after.Milliseconds())}
	if n := len(words) - 2; n >= 2 && words[n] == "for" {
		if a.For, err = time.ParseDuration(words[n+1]); err != nil || a.For <= 0 {
			return wrong()
		}
		words = words[:n]
	}
	if len(words) > 2 {
		a.Target = words[2]
	}
	switch rest := words[min(len(words), 3):]; {
	case len(rest) == 0:
	case len(rest) == 2 && rest[0] == "to":
		a.Wire = rest[1]
	case len(rest) == 2 && slices.Contains(Whens, faultpoint.When(rest[0])):
		a.When, a.Step = rest[0], rest[1]
	default:
		return wrong()
	}
	return a, nil
}

// Whens lists the sides of a step.
var Whens = []faultpoint.When{faultpoint.Before, faultpoint.After}

func conflict(format string, args ...any) error {
	return httpapi.NewProblem(http.StatusConflict, "conflict", format, args...)
}

func invalid(format string, args ...any) error {
	return httpapi.NewProblem(http.StatusBadRequest, "invalid", format, args...)
}
