package faultpoint

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// mostEvents is how many events a process keeps: more than a run of a published fault has in one process.
const mostEvents = 1 << 14

// ring holds the process's last events.
var ring = openRing(os.Getenv(EventsEnv))

// events are the last ones of a process. They are safe for concurrent use.
type events struct {
	file string

	mu   sync.Mutex
	kept []*Event // a ring, once it is full
	next int
}

// openRing begins with the events that the process before left in the file.
func openRing(file string) *events {
	r := &events{file: file}
	if data, err := os.ReadFile(file); err == nil {
		_ = json.Unmarshal(data, &r.kept) // a process that died in between left none
	}
	return r
}

func (r *events) add(e *Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.kept) < mostEvents {
		r.kept = append(r.kept, e)
		return
	}
	r.kept[r.next] = e
	r.next = (r.next + 1) % mostEvents
}

// json returns the events in JSON, the oldest first.
func (r *events) json() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	text, _ := json.Marshal(append(append([]*Event{}, r.kept[r.next:]...), r.kept[:r.next]...)) // nothing in it can fail
	return text
}

// now returns the machine's monotonic time.
func now() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // the clock is there
	return time.Duration(t.Nano())
}

type carriedKey struct{}

// Carry returns a context whose events are about the operation under the flag.
func Carry(ctx context.Context, flag string) context.Context {
	return context.WithValue(ctx, carriedKey{}, flag)
}

// Record keeps an event. Only the first of the values counts.
func Record(ctx context.Context, step Step, when When, with ...Values) {
	newEvent(ctx, step, when, with)
}

func newEvent(ctx context.Context, step Step, when When, with []Values) *Event {
	e := &Event{At: now(), Clock: time.Now(), Step: step, When: when}
	if len(with) > 0 {
		e.Values = with[0]
	}
	if e.Flag == "" {
		e.Flag, _ = ctx.Value(carriedKey{}).(string) // none: a step of no operation
	}
	ring.add(e)
	return e
}

// Failed returns the text of an error; "" for nil.
func Failed(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Events serves the process's last events as a JSON list, the oldest first.
func Events() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(ring.json())
	})
}
