package httpapi

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"golang.org/x/sync/singleflight"

	"orderstock/pkg/observe"
)

// Check checks whether a dependency of the service answers.
type Check struct {
	// Ask returns nil if it answers.
	Ask func(context.Context) error
	// Optional is true if the service does all its work without it, perhaps more slowly.
	Optional bool
}

// checkLimit bounds the wait of a request of /readyz for its checks.
const checkLimit = 2 * time.Second

var errNoAnswer = fmt.Errorf("no answer within %v", checkLimit)

// Health adds GET /healthz, which answers 200 while the process serves, and GET /readyz, which answers 200 with the
// status "ready", 200 "degraded" if only optional checks fail, and 503 "not ready" if others do. During
// ServerConfig.ShutdownDelay both answer 503 "stopping".
//
// The answer names the failing checks. Their errors go to the log, when the answer changes. All checks run
// concurrently, and one that has not answered after two seconds has failed, even if it ignores its context. Requests
// that arrive while a check runs share its answer.
func Health(e *gin.Engine, checks map[string]Check) {
	Get(e, "/healthz", func(c *gin.Context) {
		r := readiness{Status: alive}
		if leaving(c.Request.Context()) {
			r.Status = stopping
		}
		r.write(c)
	})
	h := &health{checks: checks}
	Get(e, "/readyz", func(c *gin.Context) {
		r := readiness{Status: stopping}
		if !leaving(c.Request.Context()) {
			r = h.ask(c.Request.Context())
			h.log(c.Request.Context(), r)
		}
		r.write(c)
	})
}

type health struct {
	checks  map[string]Check
	running singleflight.Group

	mu   sync.Mutex
	last readiness
}

// readiness is the body of /readyz and of /healthz.
type readiness struct {
	Status  string   `json:"status"`
	Failing []string `json:"failing,omitempty"`

	errs []any // alternating names and errors
}

func (r readiness) write(c *gin.Context) {
	code := http.StatusOK
	if r.Status == notReady || r.Status == stopping {
		code = http.StatusServiceUnavailable
		c.Header("Retry-After", "1")
	}
	c.JSON(code, r)
}

const (
	alive    = "ok"
	stopping = "stopping"
	ready    = "ready"
	degraded = "degraded"
	notReady = "not ready"
)

// ask runs the checks.
func (h *health) ask(ctx context.Context) readiness {
	// A check outlives the request that began it: others may share it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkLimit)
	defer cancel()
	names := slices.Sorted(maps.Keys(h.checks))
	answers := make([]<-chan singleflight.Result, len(names))
	for i, name := range names {
		answers[i] = h.running.DoChan(name, func() (any, error) { return nil, h.checks[name].Ask(ctx) })
	}
	r := readiness{Status: ready}
	for i, name := range names {
		err := await(ctx, answers[i])
		if err == nil {
			continue
		}
		r.Failing, r.errs = append(r.Failing, name), append(r.errs, name, err.Error())
		switch {
		case !h.checks[name].Optional:
			r.Status = notReady
		case r.Status == ready:
			r.Status = degraded
		}
	}
	return r
}

func await(ctx context.Context, answer <-chan singleflight.Result) error {
	select {
	case a := <-answer:
		return a.Err
	case <-ctx.Done():
	}
	select {
	case a := <-answer: // it arrived during the wait for another check
		return a.Err
	default:
		return errNoAnswer
	}
}

// log logs a readiness that differs from the last one, with the causes.
func (h *health) log(ctx context.Context, r readiness) {
	h.mu.Lock()
	last := h.last
	h.last = r
	h.mu.Unlock()
	if r.Status == last.Status && slices.Equal(r.Failing, last.Failing) {
		return
	}
	level := slog.LevelInfo
	if r.Status != ready {
		level = slog.LevelWarn
	}
	observe.Logger(ctx).Log(ctx, level, r.Status, r.errs...)
}

// AskHealth returns nil if a GET of url answers 200. It is for the health check
// of a container: it does not verify the certificate of an HTTPS server.
func AskHealth(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("ask %s: %w", url, err)
	}
	// The certificate is for the name that others use. Verifying it would prove nothing here: a process that holds the
	// port on this machine could just as well answer 200 over HTTP.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // see above
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return fmt.Errorf("ask %s: %w", url, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 4096)) // only for the message
		return fmt.Errorf("%s answers %s: %s", url, resp.Status, strings.TrimSpace(string(body)))
	}
	return nil
}

type leavingKey struct{}

// withLeaving returns a context for a server's requests, which does not end with ctx, and a function after which
// leaving is true for them.
func withLeaving(ctx context.Context) (requests context.Context, leave func()) {
	var begun atomic.Bool
	return context.WithValue(context.WithoutCancel(ctx), leavingKey{}, &begun), func() { begun.Store(true) }
}

// leaving reports whether the server of the request that ctx belongs to is about to close its port.
func leaving(ctx context.Context) bool {
	begun, ok := ctx.Value(leavingKey{}).(*atomic.Bool)
	return ok && begun.Load()
}
