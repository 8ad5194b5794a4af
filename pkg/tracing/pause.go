package tracing

import (
	"context"
	"sync"
	"time"
)

const (
	// tick is the time between two looks at the clock. If longest has passed instead, the process was paused.
	tick    = 25 * time.Millisecond
	longest = 300 * time.Millisecond
	// kept bounds the number of pauses kept.
	kept = 64
)

// pause is a time when the process did not run: it was stopped, or starved.
type pause struct {
	from time.Time
	took time.Duration
}

// watch looks at the clock at every tick. A missed tick shows a pause.
type watch struct {
	mu   sync.Mutex
	last time.Time // when the clock was looked at; zero if nobody watches
	seen []pause
}

var pauses watch

// WatchPauses adds pauses of the whole process to spans that end from now on. It runs until ctx ends.
func WatchPauses(ctx context.Context) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for ctx.Err() == nil {
		pauses.look()
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
	pauses.mu.Lock()
	defer pauses.mu.Unlock()
	pauses.last = time.Time{}
}

func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lookLocked()
}

func (w *watch) lookLocked() {
	now := time.Now()
	if took := now.Sub(w.last); !w.last.IsZero() && took > longest {
		if len(w.seen) == kept {
			w.seen = w.seen[1:]
		}
		w.seen = append(w.seen, pause{w.last, took})
	}
	w.last = now
}

// since returns the parts of pauses that lie after began. It looks at the clock first, so that it finds a pause that
// has only just ended.
func (w *watch) since(began time.Time) []pause {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last.IsZero() {
		return nil
	}
	w.lookLocked()
	var found []pause
	for _, p := range w.seen {
		if late := max(0, began.Sub(p.from)); late < p.took {
			found = append(found, pause{p.from.Add(late), p.took - late})
		}
	}
	return found
}
