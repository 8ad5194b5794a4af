package verify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"slices"

	"orderstock/loadtest/history"
)

// Evidence holds the books of a verdict, so that they can be judged again without databases. People read its JSON, too.
type Evidence struct {
	// Checks are the violations of demands that were made of the run while it went on, and Unknown why it proves nothing:
	// the verdict on the books has them in addition.
	Checks  []Invariant `json:"checks,omitempty"`
	Unknown []string    `json:"unknown,omitempty"`
	// Declared is as in Terms.
	Declared []string `json:"declared,omitempty"`
	Tables
}

// OpenEvidence reads the evidence in a file.
func OpenEvidence(path string) (*Evidence, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read evidence: %w", err)
	}
	e := &Evidence{}
	if err := json.Unmarshal(text, e); err != nil {
		return nil, fmt.Errorf("read evidence %s: %w", path, err)
	}
	for _, r := range e.Flows {
		if !slices.Contains(kinds, r.Kind) {
			return nil, fmt.Errorf("read evidence %s: flow of kind %q", path, r.Kind)
		}
	}
	return e, nil
}

// Judge judges the run with that history again. samples is as in Terms.
func (e *Evidence) Judge(h *history.History, samples int) *Verdict {
	v := Judge(e.Books(), h, Terms{Samples: samples, Declared: e.Declared})
	v.measured(h.Measure())
	v.Invariants = append(v.Invariants, e.Checks...)
	for _, reason := range e.Unknown {
		if !slices.Contains(v.Reasons, reason) {
			v.Reasons = append(v.Reasons, reason)
		}
	}
	v.conclude()
	return v
}

// record returns the books, and copies each row that is read of them to t.
func (t *Tables) record(b Books) Books {
	*t = Tables{At: b.At, Since: b.Since, Until: b.Until}
	b.Entries = copied(b.Entries, t.add)
	b.Products = copied(b.Products, func(page []ProductRow) { t.Products = append(t.Products, page...) })
	return b
}

// copied yields the rows, each once it has been given to copy.
func copied[T any](rows iter.Seq2[T, error], copy func(T)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for row, err := range rows {
			if err == nil {
				copy(row)
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// Text is text of a database, or bytes. In JSON each byte is the character of that number, and nil is null.
type Text []byte

// Scan implements sql.Scanner.
func (t *Text) Scan(column any) error {
	text, ok := column.([]byte)
	if !ok && column != nil {
		return fmt.Errorf("text of type %T", column)
	}
	*t = bytes.Clone(text)
	return nil
}

// MarshalJSON implements json.Marshaler.
func (t Text) MarshalJSON() ([]byte, error) {
	if t == nil {
		return []byte("null"), nil
	}
	text := make([]rune, len(t))
	for i, b := range t {
		text[i] = rune(b)
	}
	return json.Marshal(string(text))
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Text) UnmarshalJSON(from []byte) error {
	var text *string
	if err := json.Unmarshal(from, &text); err != nil || text == nil {
		*t = nil
		return err
	}
	*t = Text{}
	for _, r := range *text {
		if r > 0xff {
			return fmt.Errorf("%q stands for no byte", r)
		}
		*t = append(*t, byte(r))
	}
	return nil
}
