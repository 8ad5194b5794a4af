package history

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
)

// Form is the form of an order's key: Plain, Keyless, or the index of a relative and 2.
type Form uint8

const (
	// Plain: the name of the run and the number of the order.
	Plain Form = iota
	// Keyless: no key. Such an order is known by its id alone, and cannot be repeated.
	Keyless

	related
)

// relatives are the ways to change a key into another that a service might take for the same: each is a key of its
// order, and no other's. They get the key of the order before, without its number, and that number.
var relatives = []struct {
	// name says what is the same. Flag is true if the result is also an operation flag.
	name string
	flag bool
	of   func(run, n string) string
}{
	{"upper case", true, func(run, n string) string { return strings.ToUpper(run) + "-" + n }},
	{"a leading zero", true, func(run, n string) string { return run + "-0" + n }},
	{"other punctuation", true, func(run, n string) string { return run + "_" + n }},
	{"percent-encoded", false, func(run, n string) string { return run + "%2D" + n }},
	{"a plus sign", false, func(run, n string) string { return run + "-+" + n }},
	{"an apostrophe", false, func(run, n string) string { return run + "-" + n + "'" }},
	{"a backslash", false, func(run, n string) string { return run + `-\` + n }},
	{"the head", false, func(run, n string) string { return run + "-" + padding(run+n+"-") + "-" + n }},
	{"the tail", false, func(run, n string) string { return run + "-" + n + "-" + padding(run+n+"-") }},
}

// oddEvery is the number of orders among which one has a relative of the key before it. Two have no key: keyless, and
// the next one, which has the same items.
const (
	oddEvery = 50
	keyless  = 40
)

// BasketOf returns the order whose items order n has: n, or the one before it of two without a key.
func (h *History) BasketOf(n int) int {
	if h.FormOf(n) == Keyless {
		return n - n%2
	}
	return n
}

// FormOf returns the form of the key of order n.
func (h *History) FormOf(n int) Form {
	switch {
	case !h.Odd:
	case n%oddEvery == 7:
		forms := len(relatives)
		if h.Path == PathDeduct {
			forms = flags
		}
		return related + Form((uint64(n/oddEvery)+h.Seed)%uint64(forms))
	case n%oddEvery/2 == keyless/2 && !h.Disturbed && !h.Breakable && h.Path == PathOrder:
		return Keyless
	}
	return Plain
}

// flags is the number of relatives, the first ones, that are operation flags.
var flags = func() (n int) {
	for n < len(relatives) && relatives[n].flag {
		n++
	}
	return n
}()

// padding makes a key as long as the contract allows, with its other characters and a dash.
func padding(others string) string { return strings.Repeat("l", max(0, 255-1-len(others))) }

// Key returns the idempotency key of order n or, on PathDeduct, its flag. It is "" for an order without a key.
func (h *History) Key(n int) string { return string(h.AppendKey(nil, n)) }

// AppendKey appends Key(n) to b. It is safe for concurrent use.
func (h *History) AppendKey(b []byte, n int) []byte {
	form := h.FormOf(n)
	if form == Keyless {
		return b
	}
	if h.Path == PathDeduct {
		b = append(b, DirectPrefix...)
	}
	if form >= related {
		return append(b, relatives[form-related].of(h.Run, strconv.Itoa(n-1))...)
	}
	b = append(b, h.Run...)
	b = append(b, '-')
	return strconv.AppendInt(b, int64(n), 10)
}

// OrderOf returns the number of the order with that key, or -1 if it is none of this run's. The key must match exactly.
func (h *History) OrderOf(key []byte) int {
	text := key
	if h.Path == PathDeduct {
		text = bytes.TrimPrefix(text, []byte(DirectPrefix))
	}
	if !h.IsRuns(text) {
		return -1
	}
	for rest := text[len(h.Run):]; len(rest) > 0; { // the number of the order, or the one before it in a relative
		n, end := 0, 0
		for end < len(rest) && end < 9 && rest[end] >= '0' && rest[end] <= '9' {
			n, end = 10*n+int(rest[end]-'0'), end+1
		}
		for _, n := range []int{n, n + 1} {
			if end > 0 && h.isKey(key, n) {
				return n
			}
		}
		rest = rest[max(end, 1):]
	}
	return -1
}

// isKey reports whether order n is there and has that key.
func (h *History) isKey(key []byte, n int) bool {
	var room [255]byte
	return n < h.Orders() && bytes.Equal(h.AppendKey(room[:0], n), key)
}

// IsRuns reports whether a key, in any case, begins like the keys of this run.
func (h *History) IsRuns(key []byte) bool {
	return len(key) > len(h.Run) && bytes.EqualFold(key[:len(h.Run)], []byte(h.Run)) &&
		!unicode.IsLetter(rune(key[len(h.Run)])) && !unicode.IsDigit(rune(key[len(h.Run)]))
}
