package tables

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"

	"orderstock/loadtest/history"
	"orderstock/loadtest/lanes"
	"orderstock/pkg/httpapi"
)

// kept is how many runs are kept.
const kept = 50

// Runs keeps the records of runs, each in its own folder. It is safe for concurrent use.
type Runs struct {
	dir string

	mu   sync.Mutex
	rows []Run // newest first
}

// OpenRuns reads the rows of the runs in dir. A run that cannot be read is left out.
func OpenRuns(dir string) (*Runs, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("open runs: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("open runs: %w", err)
	}
	r := &Runs{dir: dir, rows: []Run{}}
	for _, e := range slices.Backward(entries) {
		if record, err := r.Load(e.Name()); err == nil {
			r.rows = append(r.rows, record.Run)
		}
	}
	return r, nil
}

// compare returns the rate of a run of a fault that costs only time, and the last one of the other variant.
func (r *Runs) compare(of Run) *Compare {
	f, err := Find(of.Fault)
	if err != nil || f.Rate == "" {
		return nil // free play, or it costs pieces
	}
	rates := map[Side]float64{of.Variant: of.OrdersPerS}
	for _, run := range r.List() {
		if run.Fault == of.Fault && rates[run.Variant] == 0 {
			rates[run.Variant] = run.OrdersPerS
		}
	}
	return &Compare{
		What: f.Rate, Broken: rates[Broken], Fixed: rates[Fixed], BrokenSays: f.Broken.Says, FixedSays: f.Fixed.Says,
	}
}

// broken returns the scene of the last broken run of the same fault, with the same seed and as many buyers; nil if
// there is none, and for a broken run itself.
func (r *Runs) broken(of Run) *lanes.Scene {
	for _, run := range r.List() {
		if of.Variant != Broken && run.Variant == Broken && run.Fault == of.Fault && run.Seed == of.Seed &&
			run.Buyers == of.Buyers {
			if record, err := r.Load(run.ID); err == nil {
				return record.Scene
			}
		}
	}
	return nil
}

// List returns the runs, newest first.
func (r *Runs) List() []Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.rows)
}

// runID matches an id, which becomes a part of a path.
var runID = regexp.MustCompile(`^[0-9]{8}-[0-9]{6}\.[0-9]{3}-[0-9]$`)

// Load returns a kept run. The error is an *httpapi.Problem if there is none.
func (r *Runs) Load(id string) (*Record, error) {
	if !runID.MatchString(id) {
		return nil, httpapi.NewProblem(http.StatusNotFound, "not_found", "there is no run %q", id)
	}
	data, err := os.ReadFile(filepath.Join(r.dir, id, "run.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, httpapi.NewProblem(http.StatusNotFound, "not_found", "there is no run %q", id)
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

// save writes a record, also again, and removes the oldest ones beyond the limit.
func (r *Runs) save(record *Record) error {
	if err := history.SaveJSON(filepath.Join(r.dir, record.Run.ID, "run.json"), record); err != nil {
		return fmt.Errorf("keep run: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = slices.DeleteFunc(r.rows, func(run Run) bool { return run.ID == record.Run.ID })
	r.rows = slices.Insert(r.rows, 0, record.Run)
	for len(r.rows) > kept {
		oldest := r.rows[len(r.rows)-1]
		if err := os.RemoveAll(filepath.Join(r.dir, oldest.ID)); err != nil {
			return fmt.Errorf("remove old run: %w", err)
		}
		r.rows = r.rows[:len(r.rows)-1]
	}
	return nil
}
