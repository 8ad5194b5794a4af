package console

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
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
	// Token opens the server: it is shown once, in the address, and then kept in a cookie. Default: random.
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

// cookieOf names the cookie by the port where the browser sees the console: a browser keeps one set of cookies for
// all ports of a host, and each console has its own token.
func cookieOf(r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		port = "80"
	}
	return "orderstock_console_" + port
}

// policy lets the page load its own files and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guard refuses requests without the token and, unless the server is remote, requests
// whose Host header is not a loopback name.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		if !s.serves(r.Host) {
			refuse(w, problem.New(http.StatusMisdirectedRequest, "wrong_host", "this console is not served under %q: "+
				"use 127.0.0.1 or localhost; with --remote an IP address or a name of --host", r.Host))
			return
		}
		if r.URL.Path == "/healthz" {
			_, _ = io.WriteString(w, "ok\n")
			return
		}
		if token := r.URL.Query().Get("token"); token != "" && r.Method == http.MethodGet {
			if !s.valid(token) {
				refuse(w, problem.New(http.StatusUnauthorized, "unauthorized",
					"wrong token: open the address that the console printed when it started"))
				return
			}
			//nolint:gosec // not Secure: the console speaks HTTP, on this machine
			http.SetCookie(w, &http.Cookie{
				Name: cookieOf(r), Value: token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
			})
			q := r.URL.Query()
			q.Del("token")
			// A path that begins with // would name another server.
			to := url.URL{Path: "/" + strings.TrimLeft(r.URL.Path, "/"), RawQuery: q.Encode()}
			http.Redirect(w, r, to.RequestURI(), http.StatusSeeOther)
			return
		}
		shown := ""
		if c, err := r.Cookie(cookieOf(r)); err == nil {
			shown = c.Value
		}
		if bearer, ok := httpapi.BearerToken(r); ok {
			shown = bearer
		}
		if !s.valid(shown) {
			if r.Method == http.MethodGet && r.URL.Path == "/" && r.Header.Get("Authorization") == "" {
				askForToken(w, r)
				return
			}
			refuse(w, problem.New(http.StatusUnauthorized, "unauthorized",
				"no token: open the address that the console printed when it started"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// askForToken answers a browser that shows no token. A browser that has the cookie does not send it when it comes from
// another site, but does when it follows a link of this page.
func askForToken(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = fmt.Fprintf(w, `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>orderstock: no token</title>
<h1>This page needs the console's token</h1>
<p>Open the address that the console printed when it started: it holds the token.
<p>If this browser has opened it before, <a href="%s">go on to the console</a>.
</html>
`, html.EscapeString(r.URL.RequestURI())) // an error says that the client has gone
}

func (s *Server) valid(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) == 1
}

// serves reports whether a Host header names this server in a way that no other site can.
func (s *Server) serves(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	if host == "localhost" {
		return true
	}
	if ip := net.ParseIP(strings.Trim(host, "[]")); ip != nil {
		return s.remote || ip.IsLoopback()
	}
	return s.remote && slices.Contains(s.hosts, host)
}

// events streams the state: a snapshot, then what changes.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	p := s.console.hub.open()
	defer s.console.hub.close(p)
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	write := func(format string, args ...any) bool {
		if control.SetWriteDeadline(time.Now().Add(writeWithin)) != nil {
			return false
		}
		if _, err := fmt.Fprintf(w, format, args...); err != nil {
			return false
		}
		return control.Flush() == nil
	}
	for {
		select {
		case <-r.Context().Done():
			return
		case <-s.console.closing:
			return
		case e, ok := <-p.events:
			if !ok || !write("event: %s\ndata: %s\n\n", e.name, e.data) {
				return
			}
		case <-beat.C:
			if !write(": still here\n\n") {
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
