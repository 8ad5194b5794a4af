package history

import (
	"bytes"
	"strconv"
	"strings"
)

// Form is the form of an order's key.
type Form uint8

const (
	// Plain: the name of the run and the number of the order.
	Plain Form = iota
	// Upper: the key of the order before, in upper case. It is another key.
	Upper
	// Long: a key of about 250 characters, which begins like the other long ones.
	Long
	// Keyless: no key. Such an order is known by its id alone, and cannot be repeated.
	Keyless
)

// oddEvery is the number of orders among which one has a key of each odd form.
const oddEvery = 50

// FormOf returns the form of the key of order n.
func (h *History) FormOf(n int) Form {
	switch {
	case !h.Odd:
	case n%oddEvery == 7:
		return Upper
	case h.Path == PathDeduct: // its flags have 64 characters at most
	case n%oddEvery == 23:
		return Long
	case n%oddEvery == 41 && !h.Disturbed:
		return Keyless
	}
	return Plain
}

// padding makes a key long: with the name of the run and a number, nearly as long as the contract allows.
var padding = "-" + strings.Repeat("long", 55)

// Key returns the idempotency key of order n or, on PathDeduct, its flag. It is "" for an order without a key.
func (h *History) Key(n int) string { return string(h.AppendKey(nil, n)) }

// AppendKey appends Key(n) to b. It is safe for concurrent use.
func (h *History) AppendKey(b []byte, n int) []byte {
	run, form := h.Run, h.FormOf(n)
	switch form {
	case Keyless:
		return b
	case Upper:
		run, n = strings.ToUpper(run), n-1
	case Long:
		run += padding
	case Plain:
	}
	if h.Path == PathDeduct {
		b = append(b, DirectPrefix...)
	}
	b = append(b, run...)
	b = append(b, '-')
	return strconv.AppendInt(b, int64(n), 10)
}

// OrderOf returns the number of the order with that key, or -1 if it is none of this run's. The key must match exactly.
func (h *History) OrderOf(key []byte) int {
	text := key
	if h.Path == PathDeduct {
		text = bytes.TrimPrefix(text, []byte(DirectPrefix))
	}
	run := h.Run
	if upper := strings.ToUpper(run); h.Odd && bytes.HasPrefix(text, []byte(upper)) {
		run = upper
	}
	n := numbered(text, "", run, h.Orders())
	switch {
	case n >= 0 && run != h.Run:
		n++
	case n < 0 && h.Odd:
		n = numbered(text, run+padding, "", h.Orders())
	}
	var room [255]byte
	if n < 0 || n >= h.Orders() || !bytes.Equal(h.AppendKey(room[:0], n), key) {
		return -1
	}
	return n
}

// IsRuns reports whether a key, in any case, begins like the keys of this run.
func (h *History) IsRuns(key []byte) bool {
	return len(key) > len(h.Run) && bytes.EqualFold(key[:len(h.Run)], []byte(h.Run)) && key[len(h.Run)] == '-'
}
