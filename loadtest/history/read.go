package history

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
)

// ErrHistory is wrapped by every error about an unusable history.
var ErrHistory = errors.New("unusable history")

// Read reads the output of Write, to the end of r. If the file is truncated or holds anything that no run writes, the
// error wraps ErrHistory and names the line.
func Read(r io.Reader) (*History, error) {
	in := reading{in: bufio.NewReaderSize(r, 1<<18)}
	h, err := in.history()
	if err != nil {
		return nil, fmt.Errorf("%w: line %d: %w", ErrHistory, in.number, err)
	}
	return h, nil
}

// reading is a history while it is read.
type reading struct {
	in     *bufio.Reader
	number int // of the line read last
	line   []byte
	h      *History
	bodies [][]Item // by order; nil until its first call is read
	call   callLine // reused
}

func (r *reading) history() (*History, error) {
	if err := r.next(); err != nil {
		return nil, err
	}
	if err := r.header(); err != nil {
		return nil, err
	}
	for {
		if err := r.next(); err != nil {
			return nil, err
		}
		if bytes.HasPrefix(r.line, []byte(`{"orders"`)) {
			return r.h, r.footer()
		}
		take := r.takeCall
		if bytes.HasPrefix(r.line, []byte(`{"aside"`)) {
			take = r.takeAside
		}
		if err := take(); err != nil {
			return nil, err
		}
	}
}

// next reads the next line, which must end.
func (r *reading) next() error {
	r.number++
	r.line = r.line[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		r.line = append(r.line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return fmt.Errorf("the file is cut: %w", io.ErrUnexpectedEOF)
		case err != nil:
			return err
		default:
			return nil
		}
	}
}

// strict rejects names that no run writes, names in other case, and duplicate names.
var strict = json.RejectUnknownMembers(true)

func (r *reading) header() error {
	var l headerLine
	if err := json.Unmarshal(r.line, &l, strict); err != nil {
		return err
	}
	us := func(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
	r.h = &History{
		Run: l.Run, Path: l.Path, Started: l.Started, Seed: l.Seed, Asked: l.Asked, Library: l.Library,
		CancelAfter: us(l.CancelUs), PriceTTL: us(l.PriceUs),
		Disturbed: l.Disturbed, Patience: us(l.Patience), Strategy: l.Strategy, Odd: l.Odd,
		Elapsed: us(l.ElapsedUs), Warmup: us(l.WarmupUs), Window: us(l.WindowUs), Timeout: us(l.TimeoutUs),
	}
	if l.Run == "" || l.Path != PathOrder && l.Path != PathDeduct || l.Asked < 0 || l.TimeoutUs < 0 ||
		l.CancelUs < 0 || l.PriceUs < 0 || l.Patience < 0 {
		return fmt.Errorf("no run: %q, path %q, asked %d, timeout %d", l.Run, l.Path, l.Asked, l.TimeoutUs)
	}
	for i, g := range l.Goods {
		if g.ID != l.Goods[0].ID+int64(i) || g.ID < 1 || g.Stock < 1 || g.Price < 0 {
			return fmt.Errorf("no product of a run: %+v", g)
		}
	}
	r.h.Goods = l.Goods
	return nil
}

// ahead is the number of orders that may be claimed and not sent yet: more than a run has clients.
const ahead = 20_000

func (r *reading) takeCall() error {
	l := &r.call
	*l = callLine{ToldItems: l.ToldItems[:0], Rows: l.Rows[:0]}
	if err := json.Unmarshal(r.line, l, strict); err != nil {
		return err
	}
	if l.Line != r.number {
		return fmt.Errorf("the call of line %d", l.Line)
	}
	if len(r.h.Asides) > 0 {
		return errors.New("a call after an aside")
	}
	kind, failure := slices.Index(kindNames[:], l.Kind), slices.Index(failureNames[:], l.Error)
	location := slices.Index(locationNames[:], l.Location)
	if kind < 0 || failure < 0 || location < 0 || l.Op < 0 || l.Op >= MaxOrders || l.Op > int64(r.number+ahead) {
		return fmt.Errorf("no call: op %d, kind %q, error %q", l.Op, l.Kind, l.Error)
	}
	if l.SentUs < 0 || l.DoneUs < l.SentUs {
		return fmt.Errorf("no call: sent at %d µs, done at %d µs", l.SentUs, l.DoneUs)
	}
	c := Call{
		Op: int32(l.Op), Kind: Kind(kind), Failure: Failure(failure), Code: l.Code, Order: l.Order, Total: l.Total,
		Replayed: l.Replayed, Status: ParseStatus(l.Status), Problem: ParseProblem(l.Problem),
		Created: l.Created, Location: Location(location),
		Intended: time.Duration(l.IntendedUs) * time.Microsecond,
		Sent:     time.Duration(l.SentUs) * time.Microsecond,
		Done:     time.Duration(l.DoneUs) * time.Microsecond,
	}
	if n := len(r.h.Calls); n > 0 && c.Sent < r.h.Calls[n-1].Sent {
		return errors.New("sent before the call above it")
	}
	if !r.isKey(l.Key, c.Op) {
		return fmt.Errorf("key %q of order %d", l.Key, c.Op)
	}
	if err := r.body(c); err != nil {
		return err
	}
	if l.AsSent && (len(l.ToldItems) > 0 || r.bodies[c.Op] == nil) {
		return fmt.Errorf("items as sent, and items %v, of order %d", l.ToldItems, c.Op)
	}
	c.Told, c.Rows, c.Reason = r.told(c), r.rows(c.Op), r.h.Reasoned(l.Reason)
	r.h.Calls = append(r.h.Calls, c)
	return nil
}

func (r *reading) isKey(key string, op int32) bool {
	var room [255]byte
	return string(r.h.AppendKey(room[:0], int(op))) == key
}

// body checks and keeps the items of a call. All calls of an order that have items must have the same.
func (r *reading) body(c Call) error {
	for int(c.Op) >= len(r.bodies) {
		r.bodies = append(r.bodies, nil)
	}
	known, body := r.bodies[c.Op], r.call.Body
	if c.Kind.Places() != (body != nil) {
		return fmt.Errorf("a call of kind %q, with a body: %t", r.call.Kind, body != nil)
	}
	if body == nil {
		return nil
	}
	items := make([]Item, len(body.Items))
	for i, it := range body.Items {
		items[i] = Item(it)
		if _, ours := r.h.Product(it.GoodsID); !ours || it.Num < 1 {
			return fmt.Errorf("item %+v", it)
		}
	}
	SortItems(items)
	if len(items) == 0 || known != nil && !slices.Equal(items, known) {
		return fmt.Errorf("items %v of order %d, %v before", items, c.Op, known)
	}
	r.bodies[c.Op] = items
	return nil
}

func (r *reading) told(c Call) Told {
	switch {
	case r.call.AsSent:
		return ToldAsSent
	case len(r.call.ToldItems) == 0:
		return ToldNothing
	}
	return r.h.Tell(c.Kind, r.bodies[c.Op], unpriced(r.call.ToldItems))
}

func (r *reading) rows(op int32) Rows {
	rows := make([]Row, len(r.call.Rows))
	for i, row := range r.call.Rows {
		rows[i] = Row{row.Kind, Item{GoodsID: row.GoodsID, Num: row.Num}}
	}
	return r.h.SawRows(r.bodies[op], rows)
}

func (r *reading) takeAside() error {
	var l asideLine
	if err := json.Unmarshal(r.line, &l, strict); err != nil {
		return err
	}
	a, ok := r.aside(&l)
	if n := len(r.h.Asides); !ok || n > 0 && a.Sent < r.h.Asides[n-1].Sent {
		return fmt.Errorf("no aside, or sent before the one above it: %s", l.Aside)
	}
	r.h.Asides = append(r.h.Asides, a)
	return nil
}

// footer checks that the file is complete and nothing follows.
func (r *reading) footer() error {
	var l footerLine
	if err := json.Unmarshal(r.line, &l, strict); err != nil {
		return err
	}
	if l.Calls != len(r.h.Calls) || l.Asides != len(r.h.Asides) {
		return fmt.Errorf("%d calls and %d asides, want %d and %d", len(r.h.Calls), len(r.h.Asides), l.Calls, l.Asides)
	}
	if l.Orders < len(r.bodies) || l.Orders > len(r.bodies)+ahead || l.Orders > MaxOrders {
		return fmt.Errorf("%d orders, want %d", len(r.bodies), l.Orders)
	}
	r.h.items.ends = make([]uint32, 0, l.Orders)
	for n := range l.Orders {
		var items []Item
		if n < len(r.bodies) {
			items = r.bodies[n]
		}
		r.h.items.append(items)
	}
	if _, err := r.in.ReadByte(); !errors.Is(err, io.EOF) {
		r.number++
		return errors.Join(errors.New("a line after the last"), err)
	}
	return nil
}
