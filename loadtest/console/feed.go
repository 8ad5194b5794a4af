package console

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"orderstock/loadtest/tables"
)

// feed keeps the state of the page and sends its changes to every open page. A page that does not read is dropped; it
// reconnects and gets a snapshot. It is safe for concurrent use.
type feed struct {
	mu       sync.Mutex
	sections map[string]json.RawMessage
	samples  []tables.Sample
	log      []tables.Entry
	pages    map[chan []byte]bool
	asked    time.Time // when the whole state was last asked for
}

// backlog is the number of events that a page may be behind: a few seconds of them.
const backlog = 256

// mostSamples is enough for the longest run. An attached console may watch for days.
const mostSamples = int(10 * time.Minute / tables.Interval)

func newFeed() *feed {
	return &feed{
		sections: map[string]json.RawMessage{}, samples: []tables.Sample{}, log: []tables.Entry{},
		pages: map[chan []byte]bool{},
	}
}

// set replaces a section of the state and, if it changed, sends it to every page. A sample or a line of the log is
// added to those before.
func (f *feed) set(section string, value any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch v := value.(type) {
	case tables.Sample:
		f.samples = last(append(f.samples, v), mostSamples)
		f.send("sample", v)
		return
	case tables.Entry:
		f.log = last(append(f.log, v), tables.MostLines)
		f.send("log", v)
		return
	case []tables.Sample:
		f.samples = last(v, mostSamples)
	case []tables.Entry:
		f.log = v
	default:
		data := encode(value)
		if string(f.sections[section]) == string(data) {
			return
		}
		f.sections[section] = data
		value = json.RawMessage(data)
	}
	f.send("state", map[string]any{section: value})
}

// last returns the last n elements, or all if there are fewer.
func last[T any](all []T, n int) []T { return all[max(0, len(all)-n):] }

// snapshot returns the whole state as JSON.
func (f *feed) snapshot() []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = time.Now()
	return encode(f.whole())
}

func (f *feed) whole() map[string]any {
	all := make(map[string]any, len(f.sections)+2)
	for name, data := range f.sections {
		all[name] = data
	}
	all["samples"], all["log"] = f.samples, f.log
	return all
}

// open adds a page and returns its server-sent events. The first one is a snapshot. The channel is closed when the page
// is dropped.
func (f *feed) open() chan []byte {
	p := make(chan []byte, backlog)
	f.mu.Lock()
	defer f.mu.Unlock()
	p <- event("snapshot", f.whole())
	f.pages[p] = true
	return p
}

func (f *feed) close(p chan []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drop(p)
}

// watched reports whether a page is open, or the state was requested recently. Otherwise little need be read.
func (f *feed) watched() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.pages) > 0 || time.Since(f.asked) < askedAgain
}

// askedAgain is how long a client counts as watching after it has requested the state.
const askedAgain = 5 * time.Second

func (f *feed) send(name string, value any) {
	if len(f.pages) == 0 {
		return
	}
	text := event(name, value)
	for p := range f.pages {
		select {
		case p <- text:
		default:
			f.drop(p)
		}
	}
}

func (f *feed) drop(p chan []byte) {
	if f.pages[p] {
		delete(f.pages, p)
		close(p)
	}
}

// event returns a server-sent event.
func event(name string, value any) []byte {
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, encode(value))
}

// encode returns the value as JSON. The state holds nothing that cannot be encoded.
func encode(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("console: encode state: %v", err))
	}
	return data
}
