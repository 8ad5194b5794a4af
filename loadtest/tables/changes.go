package tables

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
)

// Changes is the default number of random changes.
const Changes = 24_000

// RandomChanges tests the verdict by mutation. It returns three runs, each with its share of n random changes to its
// books and its answers: a calm one with repeats and cancellations, one under faults that leave results unknown, and
// one of deductions alone. Every change must be found, unless the other value means the same to the verdict: see
// exemptions.
func RandomChanges(n int) []trial.Experiment {
	mix := fire.Mix{Goods: 3, Stock: 60, Repeat: 0.3, Cancel: 0.3, Seed: 1}
	var kills []trial.Action
	for _, target := range []string{"stock-2", "order-2"} {
		kills = append(kills, trial.Action{Action: "kill", Target: target, AfterMS: 1000})
	}
	all := []trial.Experiment{
		{Name: "calm", Load: fire.Config{Orders: 100, Concurrency: 16, Mix: mix}},
		{
			Name: "under faults", Acts: kills,
			Load: fire.Config{Orders: 120, Concurrency: 16, Rate: 60, Timeout: time.Second, Insist: time.Second, Mix: mix},
		},
		{Name: "deduct", Load: fire.Config{Path: history.PathDeduct, Orders: 100, Concurrency: 16, Mix: mix}},
	}
	for i := range all {
		e := &all[i]
		e.Name, e.Group = "random changes to a run "+e.Name, "changes"
		e.Services = trial.Services{Env: Env, Fresh: true}
		e.Checks = []trial.Check{changesFound(n / len(all))}
	}
	return all
}

// changesFound checks that n random changes to the run are found.
func changesFound(n int) trial.Check {
	return trial.When(trial.Judged, "changes-found", func(ctx context.Context, r *trial.Run) error {
		books, err := verify.Read(ctx, r.System.Databases())
		if err != nil {
			return fmt.Errorf("read the books to change: %w", err)
		}
		good := goodRun{books: books, history: r.History}
		t, err := good.try(r.Seed, n)
		r.Says = append(r.Says, t.String())
		if len(t.missed) > 0 {
			r.Violate("changes-found", len(t.missed), "missed: %s", strings.Join(t.missed[:min(len(t.missed), 20)], "\n"))
		}
		if err == nil && t.found < n*3/4 {
			err = errors.New("so few are found that the exemptions say nothing: " + t.String())
		}
		return err
	})
}

// tally counts the results of changes.
type tally struct {
	tried, found, exempt int
	missed               []string // that should have been found and were not
}

func (t *tally) String() string {
	return fmt.Sprintf("%d tried, %d found, %d exempt, %d missed", t.tried, t.found, t.exempt, len(t.missed))
}

// try makes n changes to the run, one at a time, and judges each. The same seed makes the same changes. An error means
// that the run itself does not pass.
func (g goodRun) try(seed uint64, n int) (*tally, error) {
	all := &tally{}
	if v := verify.Judge(g.books.Books(), g.history, verify.Terms{}); v.Outcome != verify.Pass {
		var text strings.Builder
		_ = v.Write(&text, false)
		return all, fmt.Errorf("the run does not pass:\n%s", &text)
	}
	var mu sync.Mutex
	var running sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		running.Go(func() {
			own := g // each writes its own history file
			r := rand.New(rand.NewPCG(seed, uint64(w)))
			for range n*(w+1)/workers - n*w/workers {
				c := own.change(r)
				found := c.found()
				mu.Lock()
				all.add(c, found)
				mu.Unlock()
			}
		})
	}
	running.Wait()
	return all, nil
}

func (t *tally) add(c *change, found bool) {
	t.tried++
	switch {
	case found:
		t.found++
	case c.exempt() != "":
		t.exempt++
	default:
		t.missed = append(t.missed, c.String())
	}
}
