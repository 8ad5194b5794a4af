package console

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// hub keeps the state of the page and sends its changes to every open page. A page that does not read is dropped; it
// reconnects and gets a snapshot. It is safe for concurrent use.
type hub struct {
	mu       sync.Mutex
	sections map[string]json.RawMessage
	samples  []Sample
	log      []Entry
	pages    map[chan []byte]bool
	asked    time.Time // when the whole state was last asked for
}

// backlog is the number of events that a page may be behind: a few seconds of them.
const backlog = 256

func newHub() *hub {
	return &hub{sections: map[string]json.RawMessage{}, samples: []Sample{}, log: []Entry{}, pages: map[chan []byte]bool{}}
}

// set replaces a section of the state and, if it changed, sends it to every page.
func (h *hub) set(section string, value any) {
	data := encode(value)
	h.mu.Lock()
	defer h.mu.Unlock()
	if string(h.sections[section]) == string(data) {
		return
	}
	h.sections[section] = data
	h.send("state", map[string]json.RawMessage{section: data})
}

// sample appends to the series of the run.
func (h *hub) sample(s Sample) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.samples = last(append(h.samples, s), mostSamples)
	h.send("sample", s)
}

// entry appends to the log of the run.
func (h *hub) entry(e Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.log = last(append(h.log, e), mostLines)
	h.send("log", e)
}

// mostSamples and mostLines bound the record of a run: the samples of the longest one, and the last lines of the
// log. An attached console may watch for days.
const (
	mostSamples = int(10 * time.Minute / interval)
	mostLines   = 500
)

// last returns the last n elements, or all if there are fewer.
func last[T any](all []T, n int) []T { return all[max(0, len(all)-n):] }

// restart empties the series and the log for a new run.
func (h *hub) restart() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.samples, h.log = []Sample{}, []Entry{}
	h.send("state", map[string]any{"samples": h.samples, "log": h.log})
}

// recorded returns copies of the series and the log.
func (h *hub) recorded() ([]Sample, []Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]Sample{}, h.samples...), append([]Entry{}, h.log...)
}

// snapshot returns the whole state as JSON.
func (h *hub) snapshot() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = time.Now()
	return encode(h.whole())
}

func (h *hub) whole() map[string]any {
	all := make(map[string]any, len(h.sections)+2)
	for name, data := range h.sections {
		all[name] = data
	}
	all["samples"], all["log"] = h.samples, h.log
	return all
}

// open adds a page and returns its server-sent events. The first one is a snapshot. The channel is closed when the page
// is dropped.
func (h *hub) open() chan []byte {
	p := make(chan []byte, backlog)
	h.mu.Lock()
	defer h.mu.Unlock()
	p <- event("snapshot", h.whole())
	h.pages[p] = true
	return p
}

func (h *hub) close(p chan []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop(p)
}

// watched reports whether a page is open, or the state was requested recently. Otherwise the sources need not be read.
func (h *hub) watched() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.pages) > 0 || time.Since(h.asked) < askedAgain
}

// askedAgain is how long a client counts as watching after it has requested the state.
const askedAgain = 5 * time.Second

func (h *hub) send(name string, value any) {
	text := event(name, value)
	for p := range h.pages {
		select {
		case p <- text:
		default:
			h.drop(p)
		}
	}
}

func (h *hub) drop(p chan []byte) {
	if h.pages[p] {
		delete(h.pages, p)
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

// heartbeat is how often a page is sent something, so that it notices a lost connection or a console that stands still.
const heartbeat = 2 * time.Second
