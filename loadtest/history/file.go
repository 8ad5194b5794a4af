package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// The file of a history is JSON lines: a header, and a line for each call and aside. The header has their numbers, so
// that a truncated file is noticed. Each call has its line number, so that none can be missing, duplicated or out of
// place.

// format is the number of this form of the file. It rises with each change.
const format = 2

type headerLine struct {
	Format      int       `json:"format"`
	Run         string    `json:"run"`
	Path        Path      `json:"path"`
	Started     time.Time `json:"started"`
	ElapsedUs   int64     `json:"elapsed_us"`
	WarmupUs    int64     `json:"warmup_us"`
	WindowUs    int64     `json:"window_us"`
	TimeoutUs   int64     `json:"timeout_us"`
	CancelUs    int64     `json:"cancel_after_us,omitempty"`
	PriceUs     int64     `json:"price_ttl_us,omitempty"`
	Seed        uint64    `json:"seed"`
	Asked       int       `json:"asked,omitempty"`
	Library     bool      `json:"library,omitempty"`
	Disturbed   bool      `json:"disturbed,omitempty"`
	Acts        []act     `json:"acts,omitempty"`
	Breakable   bool      `json:"breakable,omitempty"`
	StepUs      int64     `json:"step_limit_us,omitempty"`
	Interrupted bool      `json:"interrupted,omitempty"`
	Limited     bool      `json:"limited,omitempty"`
	Away        []away    `json:"away,omitempty"`
	Patience    int64     `json:"patience_us,omitempty"`
	Strategy    string    `json:"strategy,omitempty"`
	Odd         bool      `json:"odd,omitempty"`
	Orders      int       `json:"orders"`
	Calls       int       `json:"calls"`
	Asides      int       `json:"asides,omitempty"`
	NotAsked    []string  `json:"not_asked,omitempty"`
	Goods       []Goods   `json:"goods"`
}

type away struct {
	Address   string `json:"address"`
	FromUs    int64  `json:"from_us"`
	ToUs      int64  `json:"to_us"`
	Announced bool   `json:"announced,omitempty"`
}

type act struct {
	Cause  string `json:"cause"`
	FromUs int64  `json:"from_us"`
	ToUs   int64  `json:"to_us"`
}

type callLine struct {
	Line       int          `json:"line"`
	Op         int64        `json:"op"`
	Kind       string       `json:"kind"`
	Key        string       `json:"key"`
	Body       *bodyLine    `json:"body,omitempty"`
	IntendedUs int64        `json:"intended_us"`
	SentUs     int64        `json:"sent_us"`
	DoneUs     int64        `json:"done_us"`
	Code       uint16       `json:"code,omitempty"`
	Status     string       `json:"status,omitempty"`
	Order      int64        `json:"order,string,omitempty"`
	Total      int64        `json:"total,omitempty"`
	AsSent     bool         `json:"as_sent,omitempty"` // the items in the answer are ToldAsSent, and told_items is empty
	ToldItems  []pricedLine `json:"told_items,omitempty"`
	Reason     string       `json:"reason,omitempty"`
	Created    int64        `json:"created_us,omitempty"`
	Location   string       `json:"location,omitempty"`
	Rows       []rowLine    `json:"rows,omitempty"`
	Resent     bool         `json:"resent,omitempty"`
	Postponed  bool         `json:"postponed,omitempty"`
	NoHint     bool         `json:"no_retry_after,omitempty"`
	Replayed   bool         `json:"replayed,omitempty"`
	Problem    string       `json:"problem,omitempty"`
	Error      string       `json:"error,omitempty"`
}

type bodyLine struct {
	Items []itemLine `json:"items"`
}

type itemLine struct {
	GoodsID int64 `json:"goods_id,string"`
	Num     int64 `json:"num"`
}

type pricedLine struct {
	GoodsID int64 `json:"goods_id,string"`
	Num     int64 `json:"num"`
	Price   int64 `json:"price,omitempty"`
}

type rowLine struct {
	Kind    string `json:"kind"`
	GoodsID int64  `json:"goods_id,string"`
	Num     int64  `json:"num"`
}

// Write writes the history as JSON lines.
func (h *History) Write(w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<18)
	header := headerLine{
		Format: format, Run: h.Run, Path: h.Path, Started: h.Started, Seed: h.Seed, Asked: h.Asked, Library: h.Library,
		CancelUs: h.CancelAfter.Microseconds(), PriceUs: h.PriceTTL.Microseconds(),
		Disturbed: h.Disturbed, Interrupted: h.Interrupted, Limited: h.Limited, Patience: h.Patience.Microseconds(),
		Strategy: h.Strategy, Odd: h.Odd, NotAsked: h.NotAsked, Breakable: h.Breakable, StepUs: h.StepLimit.Microseconds(),
		ElapsedUs: h.Elapsed.Microseconds(), WarmupUs: h.Warmup.Microseconds(),
		WindowUs: h.Window.Microseconds(), TimeoutUs: h.Timeout.Microseconds(),
		Orders: h.Orders(), Calls: len(h.Calls), Asides: len(h.Asides), Goods: h.Goods,
	}
	for _, a := range h.Away {
		header.Away = append(header.Away, away{a.Address, a.From.Microseconds(), a.To.Microseconds(), a.Announced})
	}
	for _, a := range h.Acts {
		header.Acts = append(header.Acts, act{a.Cause, a.From.Microseconds(), a.To.Microseconds()})
	}
	encoder := json.NewEncoder(out)
	err := encoder.Encode(header)
	for i := 0; err == nil && i < len(h.Calls); i++ {
		err = encoder.Encode(h.line(i))
	}
	for i := 0; err == nil && i < len(h.Asides); i++ {
		err = encoder.Encode(h.asideLine(i))
	}
	if err = errors.Join(err, out.Flush()); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	return nil
}

// line returns call i as written to the file. The header is line 1.
func (h *History) line(i int) callLine {
	c := &h.Calls[i]
	l := callLine{
		Line: i + 2, Op: int64(c.Op), Kind: c.Kind.String(), Key: h.Key(int(c.Op)),
		IntendedUs: c.Intended.Microseconds(), SentUs: c.Sent.Microseconds(), DoneUs: c.Done.Microseconds(),
		Code: c.Code, Status: c.Status.String(), Order: c.Order, Total: c.Total, Resent: c.Resent, Replayed: c.Replayed,
		Postponed: c.Postponed, NoHint: c.NoHint,
		Error: c.Failure.String(), Problem: c.Problem.String(), Reason: h.Reason(c), Created: c.Created,
		Location: c.Location.String(), AsSent: c.Told == ToldAsSent,
	}
	if !l.AsSent {
		l.ToldItems = priced(h.ToldItems(c))
	}
	for _, row := range h.FlowRows(c) {
		l.Rows = append(l.Rows, rowLine{row.Kind, row.GoodsID, row.Num})
	}
	if c.Kind.Places() {
		l.Body = &bodyLine{}
		for _, it := range h.Items(int(c.Op)) {
			l.Body.Items = append(l.Body.Items, itemLine(it))
		}
	}
	return l
}
