package ordertest_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"

	"orderstock/pkg/observe"
)

// wire stands between an order service and the real stock service and breaks like a network. It never answers for the
// stock service except with its own 5xx, and never changes the data that it passes on.
type wire struct {
	stock http.Handler

	mu    sync.Mutex
	fault func(r *http.Request) fault
	held  chan struct{} // closed when held requests may go on
	seen  map[string]int
	wait  int // requests that are held now
	late  int // requests that were held, and have taken effect
}

// fault is what happens to a request.
type fault int

const (
	pass      fault = iota
	drop            // the connection ends before the request takes effect
	dropReply       // the request takes effect; its answer is lost
	hold            // the request waits, unanswered, until heal or release, and then takes effect
	refuse          // 503, as from a proxy that has no stock service to reach
)

func newWire(stock http.Handler) *wire {
	return &wire{stock: stock, held: make(chan struct{}), seen: map[string]int{}}
}

// breakAll makes each request suffer what choose says.
func (w *wire) breakAll(choose func(r *http.Request) fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault = choose
}

// deductions returns a choice for breakAll: deductions suffer f, and nothing else does.
func deductions(f fault) func(*http.Request) fault {
	return func(r *http.Request) fault {
		if r.Method == http.MethodPut {
			return f
		}
		return pass
	}
}

// heal lets all further requests through, and the held ones go on.
func (w *wire) heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault = nil
	close(w.held)
	w.held = make(chan struct{})
}

// count returns how many requests of the method came by.
func (w *wire) count(method string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen[method]
}

// holding returns how many requests are held now.
func (w *wire) holding() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.wait
}

// landed returns how many requests were held, and have taken effect.
func (w *wire) landed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.late
}

func (w *wire) holds(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wait += n
}

func (w *wire) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.seen[r.Method]++
	suffers, held := pass, w.held
	if w.fault != nil {
		suffers = w.fault(r)
	}
	w.mu.Unlock()
	switch suffers {
	case drop:
		panic(http.ErrAbortHandler)
	case dropReply:
		w.stock.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case refuse:
		rw.WriteHeader(http.StatusServiceUnavailable)
	case hold:
		// The caller's patience is not the network's: the request arrives late, with
		// its caller long gone.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		w.holds(1)
		<-held
		w.holds(-1)
		late := r.WithContext(context.WithoutCancel(r.Context()))
		late.Body = io.NopCloser(bytes.NewReader(body))
		late.Header.Del(observe.HeaderTimeout)
		defer func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.late++
		}()
		w.stock.ServeHTTP(rw, late)
	default:
		w.stock.ServeHTTP(rw, r)
	}
}
