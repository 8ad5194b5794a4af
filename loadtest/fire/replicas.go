package fire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"orderstock/loadtest/history"
)

// ErrUnreachable is wrapped by the error of a run if no replica of a service accepts connections.
var ErrUnreachable = errors.New("no connection")

// replicas are the replicas of one service, with one connection to each. It is used by one goroutine at a time.
type replicas struct {
	conns []*conn
	turn  int
}

func newReplicas(urls []string, timeout time.Duration, turn int) replicas {
	r := replicas{turn: turn}
	for _, u := range urls {
		r.conns = append(r.conns, newConn(u, timeout))
	}
	return r
}

// do sends q to the replica whose turn it is. If no connection to it can be made, do tries the others,
// because nothing has reached a service yet.
func (r *replicas) do(ctx context.Context, q request) (a answer, err error) {
	for range r.conns {
		c := r.conns[r.turn%len(r.conns)]
		r.turn++
		resent := a.resent
		a, err = c.do(ctx, q)
		if a.resent = a.resent || resent; !errors.Is(err, errDial) {
			break
		}
	}
	return a, err
}

// askLimit bounds the wait for a replica's description.
const askLimit = time.Second

// check returns an error if no connection to a replica of a service can be made: ErrUnreachable; or one that names the
// replicas that answer, but do not describe themselves as a service with that call. A failing replica, which answers
// nothing or an error, may be one.
func check(ctx context.Context, urls []string, timeout time.Duration, service, call string) error {
	errs := make([]error, len(urls))
	var asking sync.WaitGroup
	for i, url := range urls {
		asking.Go(func() {
			c := newConn(url, min(timeout, askLimit))
			defer c.close()
			errs[i] = c.dial(ctx, time.Now().Add(timeout))
			for try := 0; errs[i] == nil; try++ {
				a, err := c.do(ctx, request{method: http.MethodGet, path: "/openapi.json"})
				if err != nil && failureOf(err) == history.Broken && try < 2 { // it may have stopped at this moment
					continue
				}
				if !mayServe(a, err, call) {
					errs[i] = fmt.Errorf("%s is not the address of an orderstock %s, whose GET /openapi.json needs no token "+
						"and names %s: want http://host:port", url, service, call)
				}
				return
			}
		})
	}
	asking.Wait()
	errs = slices.DeleteFunc(errs, func(err error) bool { return errors.Is(err, errDial) })
	if len(errs) == 0 {
		return fmt.Errorf("%w to the %s at %s", ErrUnreachable, service, strings.Join(urls, ", "))
	}
	return errors.Join(errs...)
}

// mayServe reports whether the answer to GET /openapi.json, or the lack of one, may come from a service with the call.
func mayServe(a answer, err error, call string) bool {
	switch {
	case err != nil:
		return failureOf(err) != history.Broken // a server that does not speak HTTP breaks all calls
	case a.code >= http.StatusInternalServerError || a.code == http.StatusTooManyRequests:
		return true
	}
	var description struct {
		Paths map[string]json.RawMessage `json:"paths"`
	}
	if a.code != http.StatusOK || json.Unmarshal(a.body, &description) != nil {
		return false
	}
	_, ok := description.Paths[call]
	return ok
}

func (r *replicas) close() {
	for _, c := range r.conns {
		c.close()
	}
}
