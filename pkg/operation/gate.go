package operation

import (
	"errors"
	"maps"
	"sync"
	"time"
)

// Gate keeps calls for held products away, so that they do not fill the places that calls for others need. It is safe
// for concurrent use. The zero value is ready.
type Gate struct {
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
func (g *Gate) Pass(items []Item) (report Report, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	g.forget(now)
	for _, item := range items {
		if now.Before(g.next[item.GoodsID]) {
			return nil, Locked{item.GoodsID}
		}
	}
	limit := now.Add(lookLimit)
	for _, item := range items {
		if _, held := g.next[item.GoodsID]; held {
			g.next[item.GoodsID] = limit
		}
	}
	var once sync.Once
	return func(op Operation, err error) {
		once.Do(func() { g.learn(items, limit, op.locked() && err == nil, err) })
	}, nil
}

// Any reports whether any product is held.
func (g *Gate) Any() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forget(time.Now())
	return len(g.next) > 0
}

// learn takes the result of a call that might look until limit.
func (g *Gate) learn(items []Item, limit time.Time, free bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	for _, item := range items {
		switch next, held := g.next[item.GoodsID]; {
		case held && free:
			delete(g.next, item.GoodsID)
		case held && next.Equal(limit): // this call looked, and found nothing out
			g.next[item.GoodsID] = now
		}
	}
	var locked Locked
	if errors.As(err, &locked) {
		if g.next == nil {
			g.next = map[int64]time.Time{}
		}
		g.next[locked.GoodsID] = now.Add(lookAgain)
	}
}

// forget removes the products that nobody has asked for.
func (g *Gate) forget(now time.Time) {
	if len(g.next) == 0 || now.Sub(g.swept) < forgetAfter {
		return
	}
	g.swept = now
	maps.DeleteFunc(g.next, func(_ int64, next time.Time) bool { return now.Sub(next) > forgetAfter })
}
