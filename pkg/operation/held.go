package operation

import (
	"errors"
	"sync"
	"time"
)

// Held remembers which products are held, so that calls for them do not fill the places that calls for others need. It
// is safe for concurrent use. The zero value is ready.
type Held struct {
	mu sync.Mutex
	// next is when a call for a held product may look whether it is still held.
	next map[int64]time.Time
}

const (
	// lookAgain is the pause between two calls that may look.
	lookAgain = 250 * time.Millisecond
	// lookLimit is how long others wait for the answer to a look.
	lookLimit = 2 * time.Second
)

// Pass returns nil if no item is known to be held, and a Locked otherwise. From time to time it lets one call for a
// held product pass. The caller must hand the result of a call that passed to Learn.
func (h *Held) Pass(items []Item) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.next) == 0 {
		return nil
	}
	now := time.Now()
	for _, item := range items {
		if next, held := h.next[item.GoodsID]; held && now.Before(next) {
			return Locked{item.GoodsID}
		}
	}
	for _, item := range items {
		if _, held := h.next[item.GoodsID]; held {
			h.next[item.GoodsID] = now.Add(lookLimit)
		}
	}
	return nil
}

// Any reports whether any product is held.
func (h *Held) Any() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.next) > 0
}

// Learn takes the result of a call for the items. After a Locked its product is held; after nil no item is; any other
// error says nothing.
func (h *Held) Learn(items []Item, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var locked Locked
	if errors.As(err, &locked) {
		if h.next == nil {
			h.next = map[int64]time.Time{}
		}
		h.next[locked.GoodsID] = time.Now().Add(lookAgain)
	}
	if len(h.next) == 0 {
		return
	}
	for _, item := range items {
		next, held := h.next[item.GoodsID]
		switch {
		case !held || item.GoodsID == locked.GoodsID:
		case err == nil:
			delete(h.next, item.GoodsID)
		default: // the look found nothing out
			h.next[item.GoodsID] = earlier(next, time.Now().Add(lookAgain))
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
