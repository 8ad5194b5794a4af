package console

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed"
	"encoding/hex"
	"html/template"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"orderstock/loadtest/texts"
	"orderstock/pkg/httpapi"
)

// cookieOf names the cookie by the port where the browser sees the console: a browser keeps one set of cookies for
// all ports of a host, and each console has its own token.
func cookieOf(r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		port = "80"
	}
	return "orderstock_console_" + port
}

// pass returns the value of the cookie with that name: proof that the browser once showed the token. A browser sends
// its cookies to the servers on all ports of a host, which must not learn the token.
func (s *Server) pass(cookie string) string {
	mac := hmac.New(sha256.New, []byte(s.cfg.Token))
	mac.Write([]byte(cookie))
	return hex.EncodeToString(mac.Sum(nil))
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
			refuse(w, httpapi.NewProblem(http.StatusMisdirectedRequest, "wrong_host", "this console is not served under %q: "+
				"use 127.0.0.1 or localhost; with --remote an IP address or a name of --host", r.Host))
			return
		}
		if r.URL.Path == "/healthz" {
			_, _ = io.WriteString(w, "ok\n")
			return
		}
		if token := r.URL.Query().Get("token"); token != "" && r.Method == http.MethodGet {
			if !s.valid(token) {
				refuse(w, httpapi.NewProblem(http.StatusUnauthorized, "unauthorized",
					"wrong token: open the address that the console printed when it started"))
				return
			}
			//nolint:gosec // not Secure: the console speaks HTTP, on this machine
			http.SetCookie(w, &http.Cookie{
				Name: cookieOf(r), Value: s.pass(cookieOf(r)), Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
			})
			q := r.URL.Query()
			q.Del("token")
			// A path that begins with // would name another server.
			to := url.URL{Path: "/" + strings.TrimLeft(r.URL.Path, "/"), RawQuery: q.Encode()}
			http.Redirect(w, r, to.RequestURI(), http.StatusSeeOther)
			return
		}
		if !s.admits(r) {
			if r.Method == http.MethodGet && r.URL.Path == "/" && r.Header.Get("Authorization") == "" {
				askForToken(w, r)
				return
			}
			refuse(w, httpapi.NewProblem(http.StatusUnauthorized, "unauthorized",
				"no token: open the address that the console printed when it started"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

//go:embed locked.html
var lockedFile string

var locked = template.Must(template.New("locked").Parse(lockedFile))

// askForToken answers a browser that shows no token. A browser that has the cookie does not send it when it comes from
// another site, but does when it follows a link of this page.
func askForToken(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusUnauthorized)
	_ = locked.Execute(w, map[string]any{
		"In": texts.For(r.Header.Get("Accept-Language")), "To": r.URL.RequestURI(),
	}) // an error says that the client has gone
}

// admits reports whether the request carries the token or, without an Authorization header, the cookie.
func (s *Server) admits(r *http.Request) bool {
	if bearer, ok := httpapi.BearerToken(r); ok {
		return s.valid(bearer)
	}
	c, err := r.Cookie(cookieOf(r))
	return err == nil && same(c.Value, s.pass(c.Name))
}

func (s *Server) valid(token string) bool { return same(token, s.cfg.Token) }

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

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
		return s.cfg.Remote || ip.IsLoopback()
	}
	return s.cfg.Remote && slices.Contains(s.cfg.Hosts, host)
}
