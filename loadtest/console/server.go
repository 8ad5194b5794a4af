package console

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"orderstock/loadtest/act"
	"orderstock/loadtest/catalogue"
	"orderstock/loadtest/console/page"
	"orderstock/pkg/httpapi"
	"orderstock/pkg/problem"
)

// Server is the HTTP side of a Console. It has no write deadline, since streams stay open; each write to a stream has
// one.
type Server struct {
	console *Console
	token   string
	remote  bool
	hosts   []string
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
	return &Server{console: c, token: cfg.Token, remote: cfg.Remote, hosts: cfg.Hosts}
}

// Token returns the token that opens the page.
func (s *Server) Token() string { return s.token }

// ReceiveTraces makes the services that the console's lab starts from now on send their spans to this server,
// which they reach at url. Call it before the console's Run.
func (s *Server) ReceiveTraces(url string) { s.console.traces.receiveAt(url, s.token) }

// Handler returns the page and the API.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(page.Files()))
	mux.Handle("POST /v1/traces", s.console.traces.store)
	mux.HandleFunc("GET /api/events", s.events)
	mux.HandleFunc("GET /api/state", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(s.console.hub.snapshot())
	})
	mux.HandleFunc("GET /api/faults", answer(func(*http.Request) (any, error) { return s.console.Faults(), nil }))
	mux.HandleFunc("GET /api/tour", answer(func(*http.Request) (any, error) { return catalogue.Tour, nil }))
	mux.HandleFunc("GET /api/form", answer(func(*http.Request) (any, error) { return s.console.form(), nil }))
	mux.HandleFunc("POST /api/play", command(http.StatusAccepted, func(_ *http.Request, body playRequest) (any, error) {
		run, err := s.console.Play(body.Fault, catalogue.Side(body.Variant), body.Seed)
		return map[string]any{"run": run}, err
	}))
	mux.HandleFunc("POST /api/fire", command(http.StatusAccepted, func(_ *http.Request, body Scenario) (any, error) {
		run, err := s.console.Fire(body)
		return map[string]any{"run": run}, err
	}))
	mux.HandleFunc("POST /api/stop", command(http.StatusOK, func(*http.Request, struct{}) (any, error) {
		return said(s.console.Stop())
	}))
	mux.HandleFunc("POST /api/act", command(http.StatusOK, func(r *http.Request, body act.Action) (any, error) {
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
		return s.console.runs.load(r.PathValue("id"))
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

// TracesHandler takes the spans that services send, and nothing else. It asks for no token: serve it where only the
// services reach it.
func (s *Server) TracesHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /v1/traces", s.console.traces.store)
	return mux
}

// outlasting returns a context that does not end with its request: closing a page leaves nothing half done.
func outlasting(r *http.Request) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(r.Context()), time.Minute)
}

type playRequest struct {
	Fault   string `json:"fault"`
	Variant string `json:"variant"`
	Seed    string `json:"seed"`
}

// events streams the state: a snapshot, then what changes.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	p := s.console.hub.open()
	defer s.console.hub.close(p)
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

// writeWithin is how long a page may take to read a message before it is dropped.
const writeWithin = 5 * time.Second

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
	return problem.New(http.StatusConflict, "conflict", format, args...)
}

func invalid(format string, args ...any) error {
	return problem.New(http.StatusBadRequest, "invalid", format, args...)
}

func notFound(format string, args ...any) error {
	return problem.New(http.StatusNotFound, "not_found", format, args...)
}

func reply(w http.ResponseWriter, status int, value any, err error) {
	var refused *problem.Problem
	switch {
	case errors.As(err, &refused):
		refuse(w, refused)
	case err != nil:
		refuse(w, problem.New(http.StatusInternalServerError, "failed", "%v", err))
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(value) // an error says that the client has gone
	}
}

func refuse(w http.ResponseWriter, p *problem.Problem) {
	w.Header().Set("Content-Type", problem.Type)
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // an error says that the client has gone
}

// said makes the answer of an action from its text.
func said(text string, err error) (any, error) { return map[string]string{"text": text}, err }
