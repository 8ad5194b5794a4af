package console

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"orderstock/loadtest/faultpoint"
	"orderstock/loadtest/system"
	"orderstock/loadtest/tables"
	"orderstock/loadtest/trial"
	"orderstock/pkg/httpapi"
	"orderstock/stock-service/deduct"
)

// Server is the HTTP side of a Console. It has no write deadline, since streams stay open; each write to a stream has
// one.
type Server struct {
	console *Console
	cfg     ServerConfig
}

// ServerConfig restricts the use of the server.
type ServerConfig struct {
	// Token opens the server: it is shown once, in the address, and a cookie derived from it is kept. Default: random.
	Token string
	// Remote is for a server that is bound to more than the loopback interface. It
	// allows every IP address, and Hosts, as a Host header. Without it only loopback
	// names are answered. Either way, a name of another site that resolves to this
	// server's address is refused.
	Remote bool
	Hosts  []string
}

// NewServer returns the HTTP side of c.
func NewServer(c *Console, cfg ServerConfig) *Server {
	if cfg.Token == "" {
		cfg.Token = rand.Text()
	}
	return &Server{c, cfg}
}

// Token returns the token that opens the page.
func (s *Server) Token() string { return s.cfg.Token }

// ReceiveTraces makes the services that the console's lab starts from now on send their spans to this server,
// which they reach at url. Call it before the console's Run.
func (s *Server) ReceiveTraces(url string) { s.console.player.Env = envOf(url, s.cfg.Token) }

// Handler returns the page and the API.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(Page()))
	mux.HandleFunc("GET /faults/{page}", faultPage)
	mux.Handle("POST /v1/traces", s.console.traces)
	mux.HandleFunc("GET /api/events", s.events)
	mux.HandleFunc("GET /api/state", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(s.console.feed.snapshot())
	})
	mux.HandleFunc("GET /api/faults", answer(func(*http.Request) (any, error) { return tables.Published, nil }))
	mux.HandleFunc("GET /api/tour", answer(func(*http.Request) (any, error) { return tables.Tour, nil }))
	mux.HandleFunc("GET /api/form", answer(func(*http.Request) (any, error) { return s.form(), nil }))
	mux.HandleFunc("POST /api/play", command(http.StatusAccepted, func(_ *http.Request, body playRequest) (any, error) {
		seed, err := strconv.ParseUint(cmp.Or(body.Seed, "0"), 10, 64)
		if err != nil {
			return nil, invalid("seed %q: want a number from 0 to 2^64-1", body.Seed)
		}
		run, err := s.console.Play(body.Fault, body.Variant, seed)
		return map[string]any{"run": run}, err
	}))
	mux.HandleFunc("POST /api/fire", command(http.StatusAccepted, func(_ *http.Request, body tables.Custom) (any, error) {
		run, err := s.console.Fire(body)
		return map[string]any{"run": run}, err
	}))
	mux.HandleFunc("POST /api/stop", command(http.StatusOK, func(*http.Request, struct{}) (any, error) {
		return said(s.console.Stop())
	}))
	mux.HandleFunc("POST /api/act", command(http.StatusOK, func(r *http.Request, body trial.Action) (any, error) {
		ctx, cancel := outlasting(r)
		defer cancel()
		return said(s.console.Act(ctx, body))
	}))
	mux.HandleFunc("POST /api/heal", command(http.StatusOK, func(r *http.Request, _ struct{}) (any, error) {
		ctx, cancel := outlasting(r)
		defer cancel()
		return said(s.console.Heal(ctx))
	}))
	mux.HandleFunc("GET /api/runs/{id}", answer(func(r *http.Request) (any, error) {
		return s.console.player.Runs.Load(r.PathValue("id"))
	}))
	mux.HandleFunc("GET /api/runs/{id}/report", s.report)
	mux.HandleFunc("POST /api/orders", command(http.StatusOK, func(r *http.Request, body HandOrder) (any, error) {
		return s.console.PlaceByHand(r.Context(), body)
	}))
	mux.HandleFunc("GET /api/orders/{id}", answer(func(r *http.Request) (any, error) {
		return s.console.Life(r.Context(), r.PathValue("id"))
	}))
	var protect http.CrossOriginProtection
	return s.guard(protect.Handler(mux))
}

// form describes the fields of a scenario.
func (s *Server) form() map[string]any {
	type kind struct {
		Name   string `json:"name"`
		Says   string `json:"says"`
		Unsafe bool   `json:"unsafe"`
	}
	var strategies []kind
	for _, s := range deduct.Strategies {
		strategies = append(strategies, kind{s.Name, s.Summary, s.Unsafe()})
	}
	return map[string]any{
		"strategies": strategies, "steps": faultpoint.Steps, "whens": trial.Whens, "actions": trial.Kinds,
		"wires":    []string{system.ToMySQL, system.ToRedis, system.ToZooKeeper, system.ToStock},
		"settings": new(tables.Custom).Settings(), "program": s.console.program, // as a shell calls it
		"defaults": map[string]any{
			"path": "order", "orders": 800, "concurrency": 200, "goods": 5, "stock": 300, "items_max": 3, "num_max": 3,
			"repeat": 0.1,
		},
	}
}

// TracesHandler takes the spans that services send, and nothing else. It asks for no token: serve it where only the
// services reach it.
func (s *Server) TracesHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /v1/traces", s.console.traces)
	return mux
}

// outlasting returns a context that does not end with its request: closing a page leaves nothing half done.
func outlasting(r *http.Request) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(r.Context()), time.Minute)
}

type playRequest struct {
	Fault   string      `json:"fault"`
	Variant tables.Side `json:"variant"`
	Seed    string      `json:"seed"`
}

// events streams the state: a snapshot, then what changes.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	p := s.console.feed.open()
	defer s.console.feed.close(p)
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	write := func(text []byte) bool {
		if control.SetWriteDeadline(time.Now().Add(writeWithin)) != nil {
			return false
		}
		if _, err := w.Write(text); err != nil {
			return false
		}
		return control.Flush() == nil
	}
	for {
		select {
		case <-r.Context().Done():
			return
		case <-s.console.ctx.Done():
			return
		case event, ok := <-p:
			if !ok || !write(event) {
				return
			}
		case <-beat.C:
			if !write(event("beat", nil)) {
				return
			}
		}
	}
}

// heartbeat is how often a page is sent something, so that it notices a lost connection or a console that stands still.
const heartbeat = 2 * time.Second

// writeWithin is how long a page may take to read a message before it is dropped.
const writeWithin = 5 * time.Second

// report sends the report of a run.
func (s *Server) report(w http.ResponseWriter, r *http.Request) {
	record, err := s.console.player.Runs.Load(r.PathValue("id"))
	if err != nil {
		reply(w, 0, nil, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", "orderstock-"+record.Run.ID+".html"))
	_ = record.Sheet().Write(w) // an error says that the client has gone
}

// answer replies with the result of do.
func answer(do func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		value, err := do(r)
		reply(w, http.StatusOK, value, err)
	}
}

// command decodes a JSON body of at most 64 KiB, calls do with it and replies with status.
func command[T any](status int, do func(*http.Request, T) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
		var body T
		if err := httpapi.DecodeRequest(r, &body); err != nil {
			reply(w, 0, nil, err)
			return
		}
		value, err := do(r, body)
		reply(w, status, value, err)
	}
}

func conflict(format string, args ...any) error {
	return httpapi.NewProblem(http.StatusConflict, "conflict", format, args...)
}

func invalid(format string, args ...any) error {
	return httpapi.NewProblem(http.StatusBadRequest, "invalid", format, args...)
}

func notFound(format string, args ...any) error {
	return httpapi.NewProblem(http.StatusNotFound, "not_found", format, args...)
}

func reply(w http.ResponseWriter, status int, value any, err error) {
	var refused *httpapi.Problem
	switch {
	case errors.As(err, &refused):
		refuse(w, refused)
	case err != nil:
		refuse(w, httpapi.NewProblem(http.StatusInternalServerError, "failed", "%v", err))
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(value) // an error says that the client has gone
	}
}

func refuse(w http.ResponseWriter, p *httpapi.Problem) {
	w.Header().Set("Content-Type", httpapi.ProblemType)
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // an error says that the client has gone
}

// said makes the answer of an action from its text.
func said(text string, err error) (any, error) { return map[string]string{"text": text}, err }
