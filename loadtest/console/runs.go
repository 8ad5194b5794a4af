package console

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"

	"orderstock/loadtest/catalogue"
	"orderstock/loadtest/history"
)

// kept is how many runs are kept.
const kept = 50

// runs keeps the records of runs, each in its own folder. It is safe for concurrent use.
type runs struct {
	dir string

	mu   sync.Mutex
	rows []RunRow // newest first

	rates  map[string]Compare // the last ones of the faults that cost only time, by letter
	caught map[string]string  // by letter: the last seed that made the broken variant go wrong
}

// openRuns reads the rows of the runs in dir. A run that cannot be read is left out.
func openRuns(dir string) (*runs, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("open runs: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("open runs: %w", err)
	}
	r := &runs{dir: dir, rows: []RunRow{}, rates: map[string]Compare{}, caught: map[string]string{}}
	for _, e := range slices.Backward(entries) {
		if record, err := r.load(e.Name()); err == nil {
			r.rows = append(r.rows, record.Row)
			if was := record.Compare; was != nil {
				rates := r.rates[record.Row.Fault]
				rates.Broken, rates.Fixed = cmp.Or(rates.Broken, was.Broken), cmp.Or(rates.Fixed, was.Fixed)
				r.rates[record.Row.Fault] = rates
			}
		}
	}
	return r, nil
}

// compare records the rate of a fault that costs only time, and returns it with the other variant's.
func (r *runs) compare(p *plan, rate float64) *Compare {
	if p.fault == nil || p.fault.Rate == "" {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	compare := r.rates[p.fault.Letter]
	compare.What, compare.BrokenSays, compare.FixedSays = p.fault.Rate, p.fault.Broken.Says, p.fault.Fixed.Says
	if p.variant == catalogue.Broken {
		compare.Broken = rate
	} else {
		compare.Fixed = rate
	}
	r.rates[p.fault.Letter] = compare
	return &compare
}

// noteCaught notes the seed that made the broken variant of a fault go wrong.
func (r *runs) noteCaught(letter, seed string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.caught[letter] = seed
}

// seedsFrom is the default seed of a fault.
const seedsFrom = "42"

// firstSeed returns the default seed of a variant. A fixed one is played with the seed that caught the broken one.
func (r *runs) firstSeed(letter string, v catalogue.Side) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v == catalogue.Fixed {
		return cmp.Or(r.caught[letter], seedsFrom)
	}
	return seedsFrom
}

func (r *runs) list() []RunRow {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.rows)
}

// runID matches an id, which becomes a part of a path.
var runID = regexp.MustCompile(`^[0-9]{8}-[0-9]{6}\.[0-9]{3}-[0-9]$`)

func (r *runs) load(id string) (*Record, error) {
	if !runID.MatchString(id) {
		return nil, notFound("there is no run %q", id)
	}
	data, err := os.ReadFile(filepath.Join(r.dir, id, "run.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, notFound("there is no run %q", id)
	}
	if err != nil {
		return nil, fmt.Errorf("read run: %w", err)
	}
	var record Record
	if err := json.Unmarshal(data, &record); err != nil {
		return nil, fmt.Errorf("read run %s: %w", id, err)
	}
	return &record, nil
}

// save writes a record and removes the oldest ones beyond the limit.
func (r *runs) save(record *Record) error {
	dir := filepath.Join(r.dir, record.Row.ID)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("keep run: %w", err)
	}
	if err := history.SaveJSON(filepath.Join(dir, "run.json"), record); err != nil {
		return fmt.Errorf("keep run: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = slices.Insert(r.rows, 0, record.Row)
	for len(r.rows) > kept {
		oldest := r.rows[len(r.rows)-1]
		if err := os.RemoveAll(filepath.Join(r.dir, oldest.ID)); err != nil {
			return fmt.Errorf("remove old run: %w", err)
		}
		r.rows = r.rows[:len(r.rows)-1]
	}
	return nil
}

// Record returns a run that is kept.
func (c *Console) Record(id string) (*Record, error) { return c.runs.load(id) }
