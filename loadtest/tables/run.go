package tables

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"orderstock/loadtest/history"
	"orderstock/loadtest/lanes"
	"orderstock/loadtest/report"
	"orderstock/loadtest/system"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
)

// Run describes one try of an experiment that is played and, once it is judged, its outcome.
type Run struct {
	ID       string    `json:"id"`
	At       time.Time `json:"at"`
	Title    string    `json:"title"`
	Fault    string    `json:"fault"`   // a letter, or ""
	Variant  Side      `json:"variant"` // "" in free play
	Says     string    `json:"says"`    // the variant, if it is not the fault alone or the product as it ships
	Strategy string    `json:"strategy"`
	Seed     uint64    `json:"seed,string,omitzero"`
	Attempt  int       `json:"attempt"`
	Attempts int       `json:"attempts"`
	Orders   int       `json:"orders"` // to be sent or, once it is judged, in the database
	Buyers   int       `json:"buyers"`
	Goods    int       `json:"goods"`
	Stock    int64     `json:"stock"`   // pieces of all goods together
	Command  string    `json:"command"` // the command line of the same run
	// TraceSample is the share of the orders that are traced.
	TraceSample float64 `json:"-"`

	// Verdict is "" until the run is judged. It is trial.NotCaught for a broken variant that passed.
	Verdict    verify.Outcome `json:"verdict"`
	Sentence   string         `json:"sentence"` // what became of the pieces and orders
	ElapsedMS  int64          `json:"elapsed_ms"`
	OrdersPerS float64        `json:"orders_per_s"`
	P99MS      float64        `json:"p99_ms"`
	Oversold   int64          `json:"oversold"`
	// Faults is what broke: in the code of a published fault and, once the run is judged, during it.
	Faults []string `json:"faults"`

	stopped int // how many orders it was to send before somebody stopped it; 0 if nobody did
}

// Record is a judged run as it is kept.
type Record struct {
	Run     Run             `json:"row"`
	Samples []Sample        `json:"samples"`
	Log     []Entry         `json:"log"`
	Verdict *verify.Verdict `json:"verdict"`
	Faults  []trial.Shown   `json:"faults"`
	Compare *Compare        `json:"compare"`
	Books   Books           `json:"books"`
	Scene   *lanes.Scene    `json:"scene"` // what happened; nil if the events do not show it

	slow bool // it had no time to show its fault
}

// Entry is a line of the log of events.
type Entry struct {
	At   time.Time `json:"at" col:"At" fmt:"15:04:05.000"`
	TMS  Millis    `json:"t_ms" col:"After"`
	Kind string    `json:"kind"` // run, fault, books, verdict or error
	Text string    `json:"text" col:"What happened"`
}

// Compare sets the rates of the broken and the fixed variant side by side.
type Compare struct {
	What       string  `json:"what"`
	Broken     float64 `json:"broken"`
	Fixed      float64 `json:"fixed"`
	BrokenSays string  `json:"broken_says"`
	FixedSays  string  `json:"fixed_says"`
}

// Headline is the sentence and the word at the top of a page or a report. The word is an outcome, or a constant below.
type Headline struct {
	Sentence string `json:"sentence"`
	Word     string `json:"word"`
}

// The words of a Headline that are no outcome of a verdict.
const (
	Running = "RUNNING"
	// Disagreeing: the run goes on, and its books disagree. Only its judge says VIOLATION.
	Disagreeing = "WRONG SO FAR"
	// Slow: right, and slower than it need be.
	Slow      = "SLOW"
	notJudged = "NOT JUDGED" // it ended before there was something to judge
)

// String names the run for a log.
func (r Run) String() string {
	switch r.Variant {
	case "":
	case Here:
		r.Title += ", as it runs here"
	default:
		r.Title += ", " + string(r.Variant)
	}
	return fmt.Sprintf("%s, seed %d", r.Title, r.Seed)
}

// MarshalJSON adds the word of the Headline, for a page: "" until the run is judged.
func (r Run) MarshalJSON() ([]byte, error) {
	type plain Run
	return json.Marshal(struct {
		plain
		Word string `json:"word"`
	}{plain(r), r.Headline().Word})
}

// Headline returns the headline of a run that is judged. The broken variant of a fault that costs only time passes, and
// is Slow.
func (r Run) Headline() Headline {
	if f, err := Find(r.Fault); err == nil && f.Rate != "" && r.Variant == Broken && r.Verdict == verify.Pass {
		return Headline{r.Sentence, Slow}
	}
	return Headline{r.Sentence, strings.ToUpper(string(r.Verdict))}
}

// RecordOf returns the record of a run that is judged, without what its player knows: the log, and what broke. It reads
// the books as they are now.
func RecordOf(
	ctx context.Context, run Run, h *history.History, v *verify.Verdict, databases verify.Databases,
) (*Record, error) {
	stock, err := system.OpenDB(databases.StockDSN)
	if err != nil {
		return nil, err
	}
	defer func() { _ = stock.Close() }() // only read
	r := &Record{Verdict: v, Log: []Entry{}, Faults: []trial.Shown{}}
	var m *Meter
	r.Samples, m = replay(h)
	sale := m.Sale()
	if h.Reprices { // the run is over: the pieces that came are in the rows
		sale.Promised -= history.MorePieces
	}
	if r.Books, err = ReadBooks(ctx, stock, sale); err != nil {
		return nil, err
	}
	run.Stock, run.ElapsedMS, run.Faults = r.Books.Stock, h.Elapsed.Milliseconds(), append([]string{}, run.Faults...)
	run.Orders, run.OrdersPerS, run.P99MS = v.Orders, v.OrdersPerS, v.P99Ms
	run.Verdict, run.Oversold = v.Outcome, v.Oversold
	ends, err := endsOf(ctx, stock, databases.OrderDSN, h, r.Books, v)
	if err != nil {
		return nil, err
	}
	f, _ := Find(run.Fault) // none in free play
	run.Sentence, r.slow = ends.sentence(f, run, v), ends.tooSlow(f, run, v) > 0
	r.Run = run
	return r, nil
}

// Sentence says how many pieces were sold.
func (b Books) Sentence() string { return sold(b.Sold, b.Stock, b.Scope) }

// sold says how many pieces were sold of how many, and how many of them there never were.
func sold(pieces, of int64, scope string) string {
	text := report.English.Sprintf("sold %d of %d", pieces, of)
	if scope != "" {
		text += " of " + scope
	}
	if pieces > of {
		text += report.English.Sprintf(": %d more than there were", pieces-of)
	}
	return text
}
