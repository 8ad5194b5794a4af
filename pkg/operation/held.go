package operation

import (
	"errors"
	"maps"
	"sync"
	"time"
)

// Held remembers which products are held, so that calls for them do not fill the places that calls for others need. It
// is safe for concurrent use. The zero value is ready.
type Held struct {
	mu sync.Mutex
	// next is when a call for a held product may look whether it is still held.
	next  map[int64]time.Time
	swept time.Time // when forgotten products were last removed
}

const (
	// lookAgain is the pause between two calls that may look.
	lookAgain = 250 * time.Millisecond
	// lookLimit is how long others wait for the end of a look.
	lookLimit = 2 * time.Second
	// forgetAfter is how long a product is remembered that nobody asks for.
	forgetAfter = 10 * time.Second
)

// Report ends a call that was let pass, with its result. After a Locked the product is held. After an operation that
// locked the rows of its items none of them is. Anything else says nothing, such as the zero Operation of a call that
// was not made; the next call for the product looks instead. Only the first report of a call counts.
type Report func(op Operation, err error)

// Pass returns a Locked if an item is known to be held. Otherwise the call for the items may be made, and the caller
// must report its end. From time to time one call for a held product passes, to find out whether it still is held.
func (h *Held) Pass(items []Item) (report Report, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	h.forget(now)
	for _, item := range items {
		if now.Before(h.next[item.GoodsID]) {
			return nil, Locked{item.GoodsID}
		}
	}
	limit := now.Add(lookLimit)
	for _, item := range items {
		if _, held := h.next[item.GoodsID]; held {
			h.next[item.GoodsID] = limit
		}
	}
	var once sync.Once
	return func(op Operation, err error) {
		once.Do(func() { h.learn(items, limit, op.locked() && err == nil, err) })
	}, nil
}

// Any reports whether any product is held.
func (h *Held) Any() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forget(time.Now())
	return len(h.next) > 0
}

// learn takes the result of a call that might look until limit.
func (h *Held) learn(items []Item, limit time.Time, free bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	for _, item := range items {
		switch next, held := h.next[item.GoodsID]; {
		case held && free:
			delete(h.next, item.GoodsID)
		case held && next.Equal(limit): // this call looked, and found nothing out
			h.next[item.GoodsID] = now
		}
	}
	var locked Locked
	if errors.As(err, &locked) {
		if h.next == nil {
			h.next = map[int64]time.Time{}
		}
		h.next[locked.GoodsID] = now.Add(lookAgain)
	}
}

// forget removes the products that nobody has asked for.
func (h *Held) forget(now time.Time) {
	if len(h.next) == 0 || now.Sub(h.swept) < forgetAfter {
		return
	}
	h.swept = now
	maps.DeleteFunc(h.next, func(_ int64, next time.Time) bool { return now.Sub(next) > forgetAfter })
}
