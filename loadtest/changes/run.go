package changes

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"

	"orderstock/loadtest/verify"
)

// Counts sums the results of changes.
type Counts struct {
	Tried  int `json:"tried"`
	Found  int `json:"found"`
	Exempt int `json:"exempt"`
	// Missed are the first few changes that should have been found and were not.
	Missed []string `json:"missed"`
	// Misses counts all of them.
	Misses int `json:"misses"`
}

// mostMissed bounds Counts.Missed.
const mostMissed = 20

// Add adds other counts.
func (c *Counts) Add(other Counts) {
	c.Tried += other.Tried
	c.Found += other.Found
	c.Exempt += other.Exempt
	c.Misses += other.Misses
	c.Missed = append(c.Missed, other.Missed...)
	c.Missed = c.Missed[:min(len(c.Missed), mostMissed)]
}

func (c Counts) String() string {
	return fmt.Sprintf("%d tried, %d found, %d exempt, %d missed", c.Tried, c.Found, c.Exempt, c.Misses)
}

// Run makes n changes to the base, one at a time, and judges each. The same seed makes the same changes. An error means
// that the base itself does not pass.
func (b *Base) Run(seed uint64, n int) (Counts, error) {
	if v := verify.Judge(b.Books.Books(), b.History, verify.Terms{}); v.Outcome != verify.Pass {
		var text strings.Builder
		_ = v.Write(&text, false)
		return Counts{}, fmt.Errorf("the run %s does not pass:\n%s", b.Name, &text)
	}
	all := Counts{Missed: []string{}}
	var mu sync.Mutex
	var running sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		running.Go(func() {
			own := *b // each writes its own history file
			counts := own.try(rand.New(rand.NewPCG(seed, uint64(w))), n*(w+1)/workers-n*w/workers)
			mu.Lock()
			defer mu.Unlock()
			all.Add(counts)
		})
	}
	running.Wait()
	return all, nil
}

func (b *Base) try(r *rand.Rand, n int) Counts {
	counts := Counts{Tried: n}
	for range n {
		c := b.change(r)
		switch {
		case c.found():
			counts.Found++
		case c.exempt() != "":
			counts.Exempt++
		default:
			counts.Misses++
			if len(counts.Missed) < mostMissed {
				counts.Missed = append(counts.Missed, c.String())
			}
		}
	}
	return counts
}
