package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
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
	Op         int64           `json:"op"`
	Kind       string          `json:"kind"`
	Key        string          `json:"key"`
	Body       json.RawMessage `json:"body,omitempty"`
	IntendedUs int64           `json:"intended_us"`
	SentUs     int64           `json:"sent_us"`
	DoneUs     int64           `json:"done_us"`
	Code       uint16          `json:"code,omitempty"`
	Status     string          `json:"status,omitempty"`
	Order      int64           `json:"order,string,omitempty"`
	Total      int64           `json:"total,omitempty"`
	Replayed   bool            `json:"replayed,omitempty"`
	Error      string          `json:"error,omitempty"`
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
	err := encoder.Encode(header)
	for i := 0; err == nil && i < len(h.Calls); i++ {
		err = encoder.Encode(h.line(&h.Calls[i]))
	}
	if err == nil {
		err = encoder.Encode(footerLine{h.Orders(), len(h.Calls)})
	}
	if err = errors.Join(err, out.Flush()); err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	return nil
}

// line returns a call as the file has it.
func (h *History) line(c *Call) callLine {
	l := callLine{
		Op: int64(c.Op), Kind: c.Kind.String(), Key: h.Key(int(c.Op)),
		IntendedUs: c.Intended.Microseconds(), SentUs: c.Sent.Microseconds(), DoneUs: c.Done.Microseconds(),
		Code: c.Code, Status: c.Status.String(), Order: c.Order, Total: c.Total, Replayed: c.Replayed,
		Error: c.Failure.String(),
	}
	if c.Kind != Cancel {
		l.Body = AppendBody(nil, h.Items(int(c.Op)))
	}
	return l
}

// ErrHistory is wrapped by every error that says a history cannot be used.
var ErrHistory = errors.New("unusable history")

// Read reads what Write wrote. The error wraps ErrHistory if the file is cut short
// or holds what no run writes.
func Read(r io.Reader) (*History, error) {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 1<<16), 64<<20) // the header of 100,000 products is one line
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
		Elapsed: us(header.ElapsedUs), Warmup: us(header.WarmupUs), Window: us(header.WindowUs),
		Timeout: us(header.TimeoutUs),
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
			var body bodyLine
			if err := json.Unmarshal(c.Body, &body); err != nil {
				return nil, bad(line, err)
			}
			for _, it := range body.Items {
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
	kind, failure := slices.Index(kindNames[:], c.Kind), slices.Index(failureNames[:], c.Error)
	if kind < 0 || failure < 0 || c.Op < 0 || c.Op >= MaxOrders {
		return Call{}, fmt.Errorf("no call: op %d, kind %q, error %q", c.Op, c.Kind, c.Error)
	}
	call.Kind, call.Failure = Kind(kind), Failure(failure)
	return call, nil
}
