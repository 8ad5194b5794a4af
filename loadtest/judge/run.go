package judge

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"orderstock/loadtest/judge/books"
	"orderstock/loadtest/judge/send"
	"orderstock/loadtest/judge/shop"
	"orderstock/loadtest/verify"
)

// The phases. The phase in which a shop fails says which kind of bug it has.
const (
	// Alone: one client after another.
	Alone = "alone"
	// Together: calls that overlap. All but their last bytes are sent before, then the last bytes at once.
	Together = "together"
	// Repeated: double clicks, answers that are lost after the service has executed the call, and repeats.
	Repeated = "repeated"
	// Killed: kill -9 in the middle, a restart, and repeats.
	Killed = "killed"
	// Cancelled: orders are cancelled once, twice at the same moment, again and with their payment, while others buy.
	Cancelled = "cancelled"
)

// sends describes the calls of each phase.
var sends = map[string]string{
	Alone:     "one client after another",
	Together:  "calls that overlap",
	Repeated:  "double clicks, lost answers, repeats under the same key",
	Killed:    "kill -9 in the middle, a restart, repeats",
	Cancelled: "cancels once, twice, again and while a payment comes; others buy",
}

// Sends describes the calls of a phase.
func Sends(phase string) string { return sends[phase] }

// Phases returns the phases in their order.
func Phases() []string { return []string{Alone, Together, Repeated, Killed, Cancelled} }

// Config configures Run. The zero value of a field means its default.
type Config struct {
	File *shop.File
	// Name is the file's name in the result, and Program the command that runs the judge. Default judge.
	Name, Program string
	// Orders is the number of orders of each phase. Default: half as much again as empties the stock, at most 2000.
	Orders int `flag:"orders" bounds:"0 100000" help:"orders of each phase (default: half as many again as empty the stock)"`
	// Clients is the number of calls at the same time. Default 40.
	Clients int `flag:"clients" default:"40" bounds:"1 1000" help:"calls at the same time"`
	// Seed chooses baskets and repeats. Default 1.
	Seed uint64 `flag:"seed" default:"1" help:"makes the same orders and repeats again"`
	// Hosts are the other machines to which orders may be sent.
	Hosts []string `flag:"host" help:"the target's host, if that is another machine; it must be one where you may do this"`
	// Phases to run. Default: all that the file allows.
	Phases []string
	// Out, if not "", is a new folder for the evidence, which Again reads.
	Out string
	// Progress, if not nil, shows the work. Done, if not nil, is called after each phase.
	Progress io.Writer
	Done     func(Phase)
}

// defaultClients is the default of Config.Clients.
const defaultClients = 40

// Phase is the result of one phase.
type Phase struct {
	Name string `json:"phase"`
	// Skipped says why the phase was not run, although nothing is wrong; else "".
	Skipped string `json:"skipped,omitempty"`
	Verdict
	// Clients is the number of calls at the same time in a phase that is run again with fewer of them; else 0.
	Clients int `json:"clients,omitempty"`
	// Kills counts the kills.
	Kills int   `json:"kills,omitempty"`
	Took  int64 `json:"took_ms"`
}

// Result is the judgement on a shop.
type Result struct {
	File    string         `json:"file"`
	Target  string         `json:"target"`
	Run     string         `json:"run"`
	Seed    uint64         `json:"seed"`
	Outcome verify.Outcome `json:"verdict"`
	// AnswersAlone: the file has no books, so only the answers were compared.
	AnswersAlone bool `json:"answers_alone,omitempty"`
	// StepsOnce: there are steps after the order, and each was sent once.
	StepsOnce bool    `json:"steps_once,omitempty"`
	Phases    []Phase `json:"phases"`
	// Checked names the invariants that a phase could judge, and Unchecked the others.
	Checked   []string    `json:"checked"`
	Unchecked []Unchecked `json:"unchecked,omitempty"`
	// Runs is the number of runs of a search, and Smallest, if not nil, the smallest load for the violation.
	Runs int `json:"runs,omitempty"`
	// Shop is the file, without its secrets.
	Shop     string    `json:"-"`
	Smallest *Smallest `json:"smallest,omitempty"`
	// Reasons say why nothing could be judged.
	Reasons []string `json:"reasons,omitempty"`
}

// run is a judgement in progress.
type run struct {
	Config
	f       *shop.File
	id      string
	sender  *send.Sender
	reader  *books.Reader // nil without books
	service *service      // nil without service
	keeper  *keeper       // nil unless the evidence is kept
	moved   bool          // the queries have seen orders of this shop
	serves  bool          // an order that was sent after a phase was served
}

// begin starts what a run needs. An error is a reason not to know.
func begin(ctx context.Context, cfg Config) (*run, error) {
	cfg.Clients, cfg.Seed = cmp.Or(cfg.Clients, defaultClients), cmp.Or(cfg.Seed, 1)
	r := &run{
		Config: cfg, f: cfg.File, id: strings.ToLower(rand.Text()[:8]),
		sender: send.New(cfg.File, cfg.Hosts),
	}
	r.reader = books.NewReader(cfg.File)
	target, err := r.target()
	if err != nil {
		return r, err
	}
	if r.f.Service != nil {
		r.service = &service{conf: r.f.Service, dir: r.f.Dir, target: target, sender: r.sender, says: cfg.Progress}
		if err := r.service.begin(ctx); err != nil {
			return r, err
		}
	}
	if err := r.sender.Reach(ctx, target); err != nil {
		return r, fmt.Errorf("nothing answers at %s: %w", r.f.Target, err)
	}
	return r, nil
}

func (r *run) target() (*url.URL, error) {
	text, err := shop.Vars{}.Text(r.f.Target)
	if err != nil {
		return nil, err
	}
	return url.Parse(text)
}

// end stops what begin started.
func (r *run) end() {
	if r.service != nil {
		r.service.end()
	}
	r.reader.Close()
	r.sender.Close()
}

// Run judges a shop. An error means that ctx ended, that a name of a phase is wrong, or that the evidence cannot be
// kept; everything else is in the result.
func Run(ctx context.Context, cfg Config) (result *Result, err error) {
	if err := checkPhases(cfg.Phases); err != nil {
		return nil, err
	}
	var kept *keeper
	if cfg.Out != "" {
		if kept, err = newKeeper(cfg); err != nil {
			return nil, err
		}
	}
	r, err := begin(ctx, cfg)
	defer r.end()
	r.keeper = kept
	result = r.result(verify.Pass)
	if err != nil {
		result.Outcome, result.Reasons = verify.Unknown, []string{err.Error()}
		return result, errors.Join(ctx.Err(), r.keep(ctx, result))
	}
	shown := 0
	show := func(p Phase) {
		if p.Skipped == "" {
			shown++
			result.Outcome = result.Outcome.Or(p.Outcome)
		}
		result.add(p)
		if cfg.Done != nil {
			cfg.Done(p)
		}
	}
	for i, name := range Phases() {
		if len(cfg.Phases) > 0 && !slices.Contains(cfg.Phases, name) {
			continue
		}
		p, err := r.runPhase(ctx, newPhase(r, name, i), shown == 0)
		if err != nil {
			return nil, err
		}
		show(p)
		for _, again := range r.withFewer(&p, shown == 1) {
			p, err := r.runPhase(ctx, again, false)
			if err != nil {
				return nil, err
			}
			if show(p); len(p.Violations) > 0 {
				break
			}
		}
	}
	if shown == 0 {
		result.Outcome, result.Reasons = verify.Unknown, []string{"no phase could be run"}
	}
	return result, r.keep(ctx, result)
}

// keep ends the keeping of evidence.
func (r *run) keep(ctx context.Context, result *Result) error {
	if r.keeper == nil {
		return nil
	}
	return r.keeper.end(result, r.reader.Versions(ctx))
}

// withFewer returns the phases that repeat the phase together with 2, 4 and 8 clients, if most of its orders were not
// served: a shop that locks up with many clients may show with a few of them that it is wrong.
func (r *run) withFewer(p *Phase, first bool) (again []*phase) {
	unserved := p.Name == Together && 2*p.Served < p.Orders
	if !unserved || !r.renewed() || !first && !r.serves {
		return nil
	}
	for _, clients := range []int{2, 4, 8} {
		if clients < r.Clients {
			fewer := *r
			fewer.Clients = clients
			again = append(again, newPhase(&fewer, fmt.Sprintf("%s-%d", Together, clients), len(Phases())+clients))
		}
	}
	return again
}

// renewed reports whether the stock of a later phase is known.
func (r *run) renewed() bool { return len(r.f.Reset) > 0 || r.f.Fresh() || r.f.Books != nil }

// result returns the result of a run without phases.
func (r *run) result(outcome verify.Outcome) *Result {
	return &Result{
		File: r.Name, Target: r.f.Target, Run: r.id, Seed: r.Seed, Outcome: outcome, AnswersAlone: r.f.Books == nil,
		StepsOnce: len(r.f.Then) > 0, Shop: shop.WithoutSecrets(string(r.f.Text)),
	}
}

// add adds a phase.
func (r *Result) add(p Phase) {
	r.Phases = append(r.Phases, p)
	found, why := map[string]bool{}, map[string]string{}
	for i := range r.Phases {
		for _, name := range r.Phases[i].Checked {
			found[name] = true
		}
		for _, u := range r.Phases[i].Unchecked {
			why[u.Invariant] = u.Why
		}
	}
	r.Checked, r.Unchecked = nil, nil
	for _, name := range Invariants() {
		switch {
		case found[name]:
			r.Checked = append(r.Checked, name)
		case why[name] != "":
			r.Unchecked = append(r.Unchecked, Unchecked{name, why[name]})
		}
	}
}

func checkPhases(names []string) error {
	for _, name := range names {
		if !slices.Contains(Phases(), name) {
			return fmt.Errorf("phase %q: want %s", name, strings.Join(Phases(), ", "))
		}
	}
	return nil
}

// skipped says why a phase is not run for this file, or returns "".
func (r *run) skipped(name string) string {
	switch {
	case name == Repeated && r.f.Order.Repeats == "none":
		return "repeats: none"
	case name == Killed && r.service == nil:
		return "no service: in the file"
	case name == Cancelled && r.f.Cancel == nil:
		return "no cancel: in the file"
	}
	return ""
}

// runPhase runs and judges one phase. An error means that ctx ended, or that the evidence cannot be kept.
func (r *run) runPhase(ctx context.Context, w *phase, first bool) (Phase, error) {
	p := Phase{Name: w.name, Skipped: r.skipped(w.name)}
	if w.Clients != r.Clients {
		p.Clients = w.Clients
	}
	if p.Skipped == "" {
		start := time.Now()
		v, err := w.judge(ctx, first)
		if err != nil {
			n := len(w.orders)
			reasons := []string{words(r.f.Noun, err.Error())}
			v, w.evidence = &Verdict{Outcome: verify.Unknown, Orders: n, Unknown: n, Reasons: reasons}, nil
		}
		p.Verdict, p.Kills, p.Took = *v, len(w.kills), time.Since(start).Milliseconds()
	}
	if ctx.Err() != nil || r.keeper == nil {
		return p, ctx.Err()
	}
	return p, r.keeper.phase(p, w.evidence)
}
