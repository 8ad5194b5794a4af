package verifytest_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/system"
	"orderstock/loadtest/system/systemtest"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
)

var tries = flag.Int("changes", 24_000, "how many changes to try")

// Every change to the books or the answers of a run is found, unless the other value means the same to the verdict: see
// exemptions. The runs are a calm one with repeats and cancellations, one under faults that leave results unknown, and
// one of deductions alone.
// It takes 12 s: recorded runs are judged hundreds of times.
func TestEveryChangeIsFound(t *testing.T) {
	mix := fire.Mix{Goods: 3, Stock: 60, Repeat: 0.3, Cancel: 0.3, Seed: 1}
	kill := func(target string) trial.Action { return trial.Action{Action: "kill", Target: target, AfterMS: 1000} }
	runs := []trial.Experiment{
		{Name: "calm", Load: fire.Config{Orders: 100, Concurrency: 16, Mix: mix}},
		{
			Name: "under faults", Acts: []trial.Action{kill("stock-2"), kill("order-2")},
			Load: fire.Config{Orders: 120, Concurrency: 16, Rate: 60, Timeout: time.Second, Insist: time.Second, Mix: mix},
		},
		{Name: "deduct", Load: fire.Config{Path: history.PathDeduct, Orders: 100, Concurrency: 16, Mix: mix}},
	}
	bin := systemtest.Build(t)
	for _, e := range runs {
		t.Run(e.Name, func(t *testing.T) {
			short := map[string]string{"ZOOKEEPER_SESSION_TIMEOUT": "3s", "PENDING_LIMIT": "3s"}
			on := systemtest.Up(t, bin, func(c *system.Config) { c.OrderEnv, c.StockEnv = short, short })
			r := run(t, e, on, 1)
			if r.Outcome != verify.Pass {
				t.Fatal(r.Outcome)
			}
			books, err := verify.Read(t.Context(), on.Databases())
			if err != nil {
				t.Fatal(err)
			}
			n := *tries / len(runs)
			all, err := goodRun{books: books, history: r.History}.try(r.Seed, n)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(all)
			if len(all.missed) > 0 {
				t.Errorf("missed:\n%s", strings.Join(all.missed[:min(len(all.missed), 20)], "\n"))
			}
			if all.found < n*3/4 {
				t.Error("so few are found that the exemptions say nothing")
			}
		})
	}
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
