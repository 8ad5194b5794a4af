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

	"orderstock/loadtest/history"
)

// kept is how many runs are kept.
const kept = 50

// runs keeps the records of runs, each in its own folder. It is safe for concurrent use.
type runs struct {
	dir string

	mu   sync.Mutex
	rows []RunRow // newest first

	compared []Record // those with two rates that were there at first; newest first
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
	r := &runs{dir: dir, rows: []RunRow{}}
	for _, e := range slices.Backward(entries) {
		if record, err := r.load(e.Name()); err == nil {
			r.rows = append(r.rows, record.Row)
			if record.Compare != nil {
				r.compared = append(r.compared, *record)
			}
		}
	}
	return r, nil
}

// ratesOf returns the last rates of the faults that cost only time, by letter.
func ratesOf(r *runs) map[string]Compare {
	rates := map[string]Compare{}
	for _, record := range r.compared {
		compare, known := rates[record.Row.Fault]
		if !known {
			compare = *record.Compare
		}
		compare.Broken = cmp.Or(compare.Broken, record.Compare.Broken)
		compare.Fixed = cmp.Or(compare.Fixed, record.Compare.Fixed)
		rates[record.Row.Fault] = compare
	}
	return rates
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
func (r *runs) save(record Record) error {
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

// LastRecord returns the record of the last attempt.
func (c *Console) LastRecord() (*Record, error) {
	c.mu.Lock()
	run := c.run
	c.mu.Unlock()
	if run == nil {
		return nil, errNothingPlayed
	}
	return c.runs.load(run.ID)
}
