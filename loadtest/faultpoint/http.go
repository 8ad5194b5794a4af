//go:build faults

package faultpoint

import (
	"net/http"
	"regexp"
)

// Control returns next with the control of the process's points at /faults, and its events at /events.
func Control(next http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/faults", Handler())
	mux.Handle("GET /events", Events())
	mux.Handle("/", next)
	return mux
}

// Replies returns next with a point before and after each part of an answer, for the requests that match. An error
// before it cuts the connection: the work is done and the answer lost.
func Replies(next http.Handler, match func(*http.Request) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !match(r) {
			next.ServeHTTP(w, r)
			return
		}
		reply := &reply{ResponseWriter: w, r: r}
		next.ServeHTTP(reply, r)
		if reply.lost {
			panic(http.ErrAbortHandler)
		}
	})
}

type reply struct {
	http.ResponseWriter
	r    *http.Request
	lost bool
}

// flagOf matches the flag of a part of an answer.
var flagOf = regexp.MustCompile(`"flag":"([^"]+)"`)

func (w *reply) Write(p []byte) (int, error) {
	ctx := w.r.Context()
	if flag := flagOf.FindSubmatch(p); flag != nil {
		ctx = Carry(ctx, string(flag[1]))
	}
	if !w.lost && At(ctx, Reply, Before) != nil {
		w.lost = true
	}
	if w.lost {
		return len(p), nil
	}
	n, err := w.ResponseWriter.Write(p)
	if err == nil && At(ctx, Reply, After) != nil {
		w.lost = true
	}
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (w *reply) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush sends the bytes written so far. A streamed answer needs it.
func (w *reply) Flush() {
	if !w.lost {
		_ = http.NewResponseController(w.ResponseWriter).Flush() // if the connection is gone, the next write reports it
	}
}
