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
	"time"

	"orderstock/loadtest/act"
	"orderstock/loadtest/catalogue"
	"orderstock/loadtest/history"
)

// kept is how many runs are kept.
const kept = 50

// runs keeps the records of runs, each in its own folder. It is safe for concurrent use.
type runs struct {
	dir string

	mu     sync.Mutex
	rows   []RunRow          // newest first
	caught map[string]string // by letter: the last seed that made the broken variant go wrong
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
	r := &runs{dir: dir, rows: []RunRow{}, caught: map[string]string{}}
	for _, e := range slices.Backward(entries) {
		if record, err := r.load(e.Name()); err == nil {
			r.rows = append(r.rows, record.Row)
		}
	}
	return r, nil
}

// compare returns the rate of a run of a fault that costs only time, and the last one of the other variant.
func (r *runs) compare(p *plan, rate float64) *Compare {
	if p.fault == nil || p.fault.Rate == "" {
		return nil
	}
	rates := map[catalogue.Side]float64{p.variant: rate}
	for _, row := range r.list() {
		if variant := catalogue.Side(row.Variant); row.Fault == p.fault.Letter && rates[variant] == 0 {
			rates[variant] = row.OrdersPerS
		}
	}
	return &Compare{
		What: p.fault.Rate, Broken: rates[catalogue.Broken], Fixed: rates[catalogue.Fixed],
		BrokenSays: p.fault.Broken.Says, FixedSays: p.fault.Fixed.Says,
	}
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

// RunRow is a run in the table of runs.
type RunRow struct {
	ID         string    `json:"id"`
	At         time.Time `json:"at"`
	Title      string    `json:"title"`
	Fault      string    `json:"fault"`
	Variant    string    `json:"variant"`
	Strategy   string    `json:"strategy"`
	Seed       string    `json:"seed"`
	Orders     int       `json:"orders"`
	OrdersPerS float64   `json:"orders_per_s"`
	P99MS      float64   `json:"p99_ms"`
	Verdict    string    `json:"verdict"`
	Oversold   int64     `json:"oversold"`
	Faults     []string  `json:"faults"`
	Command    string    `json:"command"` // the command line of the same run
}

// Record is a run as it is kept.
type Record struct {
	Row     RunRow       `json:"row"`
	Samples []Sample     `json:"samples"`
	Log     []Entry      `json:"log"`
	Verdict *Judged      `json:"verdict"`
	Faults  []act.Strike `json:"faults"`
	Compare *Compare     `json:"compare"`
	Hero    *Hero        `json:"hero"`
	Books   *Books       `json:"books"`

	attempt int // which one of its plan
}

// newRecord returns the record of a run that is judged.
func newRecord(
	run Run, v *Verdict, books Books, samples []Sample, log []Entry, strikes []act.Strike,
) *Record {
	hero := headline(books, v)
	r := &Record{
		Row: RunRow{
			ID: run.ID, At: run.StartedAt, Title: run.Title, Fault: run.Fault, Variant: run.Variant,
			Strategy: run.Strategy, Seed: run.Seed, Orders: v.Orders, OrdersPerS: v.OrdersPerS, P99MS: v.P99Ms,
			Verdict: string(v.Outcome), Oversold: v.Oversold, Faults: []string{}, Command: run.Command,
		},
		Samples: samples, Log: log, Verdict: inWords(v), Faults: strikes, Hero: &hero, Books: &books,
		attempt: run.Attempt,
	}
	for _, s := range strikes {
		r.Row.Faults = append(r.Row.Faults, s.String())
	}
	return r
}

// Judged is a verdict with its invariants in words, which verdict.json leaves out.
type Judged struct {
	*Verdict
	Invariants []Invariant `json:"invariants"`
}

// Invariant has the findings about one invariant.
type Invariant struct {
	Name       string   `json:"name"`
	Violations int      `json:"violations"`
	Sample     []string `json:"sample"`
	Says       string   `json:"says"`
}

func inWords(v *Verdict) *Judged {
	j := &Judged{Verdict: v}
	for _, i := range v.Invariants {
		j.Invariants = append(j.Invariants, Invariant{i.Name, i.Violations, i.Sample, i.Says})
	}
	return j
}
