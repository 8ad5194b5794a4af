package history

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json"
)

// ErrHistory is wrapped by every error about an unusable history.
var ErrHistory = errors.New("unusable history")

// Read reads the output of Write, to the end of r. If the file is truncated or holds anything that no run writes, the
// error wraps ErrHistory and names the line.
func Read(r io.Reader) (*History, error) {
	in := reading{in: bufio.NewReaderSize(r, 1<<18), number: 1}
	h, err := in.history()
	if err != nil {
		return nil, fmt.Errorf("%w: line %d: %w", ErrHistory, in.number, err)
	}
	return h, nil
}

// reading is a history while it is read.
type reading struct {
	in     *bufio.Reader
	number int // of the line in question
	h      *History
	items  []Item // reused
}

func (r *reading) history() (*History, error) {
	text, err := appendLine(nil, r.in)
	if err != nil {
		return nil, err
	}
	l := headerLine{History: &History{}}
	if err := json.Unmarshal(text, &l, strict); err != nil {
		return nil, err
	}
	if err := r.header(&l); err != nil {
		return nil, err
	}
	if err := lines(r, l.Calls, r.takeCall); err != nil {
		return nil, err
	}
	if err := lines(r, l.Asides, r.takeAside); err != nil {
		return nil, err
	}
	r.number++
	if _, err := r.in.ReadByte(); !errors.Is(err, io.EOF) {
		return nil, errors.Join(errors.New("a line after the last"), err)
	}
	if l.Orders < r.h.Orders() || l.Orders > r.h.Orders()+ahead || l.Orders > MaxOrders {
		return nil, fmt.Errorf("%d orders, want %d", r.h.Orders(), l.Orders)
	}
	r.h.items.grow(l.Orders)
	return r.h, nil
}

func (r *reading) header(l *headerLine) error {
	if l.Format != format {
		return fmt.Errorf("format %d, want %d: another version of the load tester wrote the file", l.Format, format)
	}
	h := l.History
	if h.Run == "" || h.Path != PathOrder && h.Path != PathDeduct || h.Asked < 0 || h.Timeout < 0 || h.CancelAfter < 0 ||
		h.PriceTTL < 0 || h.StepLimit < 0 || h.Patience < 0 || l.Calls < 0 || l.Asides < 0 {
		return fmt.Errorf("no run: %q, path %q, asked %d, timeout %s, calls %d", h.Run, h.Path, h.Asked, h.Timeout, l.Calls)
	}
	for i, g := range h.Goods {
		if g.ID != h.Goods[0].ID+int64(i) || g.ID < 1 || g.Stock < 1 || g.Price < 0 {
			return fmt.Errorf("no product of a run: %+v", g)
		}
	}
	for _, a := range h.Away {
		if a.From < 0 || a.To < a.From {
			return fmt.Errorf("away from %s to %s", a.From, a.To)
		}
	}
	for _, a := range h.Acts {
		if a.From < 0 || a.To < a.From {
			return fmt.Errorf("%s from %s to %s", a.Cause, a.From, a.To)
		}
	}
	r.h = h
	h.Calls, h.Asides = make([]Call, 0, min(l.Calls, sure)), make([]Aside, 0, min(l.Asides, sure/10))
	return nil
}

// ahead is the number of orders that may be claimed and not sent yet: more than a run has clients.
const ahead = 20_000

// sure is the number of calls for which memory is reserved because the header says so. An aside takes ten times as
// much.
const sure = 1_000_000

func (r *reading) takeCall(l *callLine) error {
	if l.Line != r.number {
		return fmt.Errorf("the call of line %d", l.Line)
	}
	c, kind := l.Call, slices.Index(kindNames[:], l.Kind)
	if kind < 0 || c.Op < 0 || c.Op >= MaxOrders || int(c.Op) > r.number+ahead {
		return fmt.Errorf("no call: op %d, kind %q", c.Op, l.Kind)
	}
	c.Kind = Kind(kind)
	if c.Sent < 0 || c.Done < c.Sent {
		return fmt.Errorf("no call: sent at %s, done at %s", c.Sent, c.Done)
	}
	if n := len(r.h.Calls); n > 0 && c.Sent < r.h.Calls[n-1].Sent {
		return errors.New("sent before the call above it")
	}
	if !r.hasKey(l.Key, c.Op) {
		return fmt.Errorf("key %q of order %d", l.Key, c.Op)
	}
	if err := r.body(c, l.Body); err != nil {
		return err
	}
	sent := r.h.Items(int(c.Op))
	if l.AsSent && (len(l.NamedItems) > 0 || sent == nil) {
		return fmt.Errorf("items as sent, and items %v, of order %d", l.NamedItems, c.Op)
	}
	c.Rows, c.Reason = r.h.SawRows(sent, l.Rows), r.h.Reasoned(l.Reason)
	if c.Named = ItemsAsSent; !l.AsSent {
		c.Named = r.h.Identify(c.Kind, sent, l.NamedItems)
	}
	r.h.Calls = append(r.h.Calls, c)
	return nil
}

func (r *reading) hasKey(key string, op int32) bool {
	var room [255]byte
	return string(r.h.AppendKey(room[:0], int(op))) == key
}

// body checks and keeps the items of a call. All calls of an order that have items must have the same.
func (r *reading) body(c Call, body *bodyLine) error {
	r.h.items.grow(int(c.Op) + 1)
	if c.Kind.Places() != (body != nil) {
		return fmt.Errorf("a call of kind %q, with a body: %t", c.Kind, body != nil)
	}
	if body == nil {
		return nil
	}
	r.items = r.items[:0]
	for _, it := range body.Items {
		r.items = append(r.items, Item(it))
		if _, ours := r.h.Product(it.GoodsID); !ours || it.Num < 1 {
			return fmt.Errorf("item %+v", it)
		}
	}
	SortItems(r.items)
	known := r.h.Items(int(c.Op))
	if len(r.items) == 0 || known != nil && !slices.Equal(r.items, known) {
		return fmt.Errorf("items %v of order %d, %v before", r.items, c.Op, known)
	}
	if known == nil {
		r.h.items.put(int(c.Op), r.items)
	}
	return nil
}

func (r *reading) takeAside(l *asideLine) error {
	a, ok := r.aside(l)
	if n := len(r.h.Asides); !ok || n > 0 && a.Sent < r.h.Asides[n-1].Sent {
		return fmt.Errorf("no aside, or sent before the one above it: %s", l.Row)
	}
	r.h.Asides = append(r.h.Asides, a)
	return nil
}
