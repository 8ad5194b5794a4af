package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// The file of a history is JSON lines: a header, a line for each call, and a
// last line that says how many there are, so that a cut file is not taken for
// a whole one.

type headerLine struct {
	Run       string      `json:"run"`
	Path      Path        `json:"path"`
	Started   time.Time   `json:"started"`
	ElapsedUs int64       `json:"elapsed_us"`
	WarmupUs  int64       `json:"warmup_us"`
	WindowUs  int64       `json:"window_us"`
	TimeoutUs int64       `json:"timeout_us"`
	Seed      uint64      `json:"seed"`
	Goods     []goodsLine `json:"goods"`
}

type goodsLine struct {
	ID    int64 `json:"id,string"`
	Stock int64 `json:"stock"`
	Price int64 `json:"price"`
}

type callLine struct {
	Op         int64     `json:"op"`
	Kind       string    `json:"kind"`
	Key        string    `json:"key"`
	Body       *bodyLine `json:"body,omitempty"`
	IntendedUs int64     `json:"intended_us"`
	SentUs     int64     `json:"sent_us"`
	DoneUs     int64     `json:"done_us"`
	Code       uint16    `json:"code,omitempty"`
	Status     string    `json:"status,omitempty"`
	Order      int64     `json:"order,string,omitempty"`
	Total      int64     `json:"total,omitempty"`
	Replayed   bool      `json:"replayed,omitempty"`
	Error      string    `json:"error,omitempty"`
}

type bodyLine struct {
	Items []struct {
		GoodsID int64 `json:"goods_id,string"`
		Num     int64 `json:"num"`
	} `json:"items"`
}

type footerLine struct {
	Orders int `json:"orders"`
	Calls  int `json:"calls"`
}

// Write writes the history as JSON lines.
func (h *History) Write(w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<18)
	header := headerLine{
		Run: h.Run, Path: h.Path, Started: h.Started, Seed: h.Seed,
		ElapsedUs: h.Elapsed.Microseconds(), WarmupUs: h.Warmup.Microseconds(),
		WindowUs: h.Window.Microseconds(), TimeoutUs: h.Timeout.Microseconds(),
	}
	for _, g := range h.Goods {
		header.Goods = append(header.Goods, goodsLine(g))
	}
	encoder := json.NewEncoder(out)
	if err := encoder.Encode(header); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	var line []byte
	for i := range h.Calls {
		line = h.appendCall(line[:0], &h.Calls[i])
		if _, err := out.Write(line); err != nil {
			return fmt.Errorf("write history: %w", err)
		}
	}
	if err := encoder.Encode(footerLine{h.Orders(), len(h.Calls)}); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	return nil
}

// appendCall writes what json.Marshal would for a callLine: there may be millions.
func (h *History) appendCall(b []byte, c *Call) []byte {
	number := func(name string, v int64) {
		b = append(b, `,"`...)
		b = append(b, name...)
		b = append(b, `":`...)
		b = strconv.AppendInt(b, v, 10)
	}
	word := func(name, v string) {
		b = append(b, `,"`...)
		b = append(b, name...)
		b = append(b, `":"`...)
		b = append(b, v...)
		b = append(b, '"')
	}
	b = append(b, `{"op":`...)
	b = strconv.AppendInt(b, int64(c.Op), 10)
	word("kind", c.Kind.String())
	b = append(b, `,"key":"`...)
	b = h.AppendKey(b, int(c.Op))
	b = append(b, '"')
	if c.Kind != Cancel {
		b = append(b, `,"body":`...)
		b = AppendBody(b, h.Items(int(c.Op)))
	}
	number("intended_us", c.Intended.Microseconds())
	number("sent_us", c.Sent.Microseconds())
	number("done_us", c.Done.Microseconds())
	if c.Code != 0 {
		number("code", int64(c.Code))
	}
	if c.Status != NoStatus {
		word("status", c.Status.String())
	}
	if c.Order != 0 {
		word("order", strconv.FormatInt(c.Order, 10))
	}
	if c.Total != 0 {
		number("total", c.Total)
	}
	if c.Replayed {
		b = append(b, `,"replayed":true`...)
	}
	if c.Failure != Answered {
		word("error", c.Failure.String())
	}
	return append(b, "}\n"...)
}

// ErrHistory is wrapped by every error that says a history cannot be used.
var ErrHistory = errors.New("unusable history")

// Read reads what Write wrote. A file that is cut short or holds what
// no run writes is ErrHistory.
func Read(r io.Reader) (*History, error) {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 1<<16), 64<<20) // the header of 100,000 goods is one line
	bad := func(line int, err error) error { return fmt.Errorf("%w: line %d: %w", ErrHistory, line, err) }
	if !in.Scan() {
		return nil, bad(1, errors.Join(io.ErrUnexpectedEOF, in.Err()))
	}
	var header headerLine
	if err := json.Unmarshal(in.Bytes(), &header); err != nil {
		return nil, bad(1, err)
	}
	us := func(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
	h := &History{
		Run: header.Run, Path: header.Path, Started: header.Started, Seed: header.Seed,
		Elapsed: us(header.ElapsedUs), Warmup: us(header.WarmupUs), Window: us(header.WindowUs), Timeout: us(header.TimeoutUs),
	}
	for _, g := range header.Goods {
		h.Goods = append(h.Goods, Goods(g))
	}
	bodies := map[int32][]Item{}
	for line := 2; in.Scan(); line++ {
		if isFooter(in.Bytes()) {
			var footer footerLine
			if err := json.Unmarshal(in.Bytes(), &footer); err != nil {
				return nil, bad(line, err)
			}
			if err := h.take(footer, bodies); err != nil {
				return nil, bad(line, err)
			}
			return h, nil
		}
		var c callLine
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			return nil, bad(line, err)
		}
		call, err := c.call()
		if err != nil {
			return nil, bad(line, err)
		}
		if c.Body != nil && bodies[call.Op] == nil {
			for _, it := range c.Body.Items {
				bodies[call.Op] = append(bodies[call.Op], Item(it))
			}
		}
		h.Calls = append(h.Calls, call)
	}
	return nil, fmt.Errorf("%w: no last line: %w", ErrHistory, errors.Join(io.ErrUnexpectedEOF, in.Err()))
}

func isFooter(line []byte) bool { return len(line) > 9 && string(line[:9]) == `{"orders"` }

func (h *History) take(footer footerLine, bodies map[int32][]Item) error {
	if footer.Calls != len(h.Calls) {
		return fmt.Errorf("%d calls, want %d", len(h.Calls), footer.Calls)
	}
	for n := range footer.Orders {
		h.items.append(bodies[int32(n)])
	}
	for op := range bodies {
		if int(op) >= footer.Orders {
			return fmt.Errorf("order %d of %d", op, footer.Orders)
		}
	}
	return nil
}

func (c callLine) call() (Call, error) {
	call := Call{
		Op: int32(c.Op), Code: c.Code, Order: c.Order, Total: c.Total, Replayed: c.Replayed, Status: ParseStatus(c.Status),
		Intended: time.Duration(c.IntendedUs) * time.Microsecond,
		Sent:     time.Duration(c.SentUs) * time.Microsecond,
		Done:     time.Duration(c.DoneUs) * time.Microsecond,
	}
	kind, failure := -1, -1
	for i, name := range kindNames {
		if name == c.Kind {
			kind = i
		}
	}
	for i, name := range failureNames {
		if name == c.Error {
			failure = i
		}
	}
	if kind < 0 || failure < 0 || c.Op < 0 || c.Op >= MaxOrders {
		return Call{}, fmt.Errorf("no call: op %d, kind %q, error %q", c.Op, c.Kind, c.Error)
	}
	call.Kind, call.Failure = Kind(kind), Failure(failure)
	return call, nil
}
