package history

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
)

// The file of a history is JSON lines: a header, and a line for each call and aside. The header has their numbers, so
// that a truncated file is noticed. Each call has its line number, so that none can be missing, duplicated or out of
// place.

// format is the number of this form of the file. It rises with each change.
const format = 3

type headerLine struct {
	Format int `json:"format"`
	*History
	Orders int `json:"orders"`
	Calls  int `json:"calls"`
	Asides int `json:"asides,omitzero"`
}

type callLine struct {
	Line int       `json:"line"`
	Kind string    `json:"kind"`
	Key  string    `json:"key"`
	Body *bodyLine `json:"body,omitzero"`
	Call
	AsSent     bool         `json:"as_sent,omitzero"` // the items in the answer are ItemsAsSent, and told_items is empty
	NamedItems []PricedItem `json:"told_items,omitzero"`
	Reason     string       `json:"reason,omitzero"`
	Rows       []Row        `json:"rows,omitzero"`
}

type bodyLine struct {
	Items []itemLine `json:"items"`
}

type itemLine struct {
	GoodsID int64 `json:"goods_id,string"`
	Num     int64 `json:"num"`
}

// Write writes the history as JSON lines.
func (h *History) Write(w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<18)
	encode := func(line any) error { return errors.Join(json.MarshalWrite(out, line), out.WriteByte('\n')) }
	err := encode(&headerLine{format, h, h.Orders(), len(h.Calls), len(h.Asides)})
	for i := 0; err == nil && i < len(h.Calls); i++ {
		err = encode(h.line(i))
	}
	for i := 0; err == nil && i < len(h.Asides); i++ {
		err = encode(h.asideLine(i))
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
		Line: i + 2, Kind: c.Kind.String(), Key: h.Key(int(c.Op)), Call: *c, AsSent: c.Named == ItemsAsSent,
		Reason: h.Reason(c), Rows: h.FlowRows(c),
	}
	if !l.AsSent {
		l.NamedItems = h.Named(c.Named, c.Kind, int(c.Op))
	}
	if c.Kind.Places() {
		l.Body = &bodyLine{}
		for _, it := range h.Items(int(c.Op)) {
			l.Body.Items = append(l.Body.Items, itemLine(it))
		}
	}
	return l
}
