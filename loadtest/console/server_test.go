package console_test

import (
	"bufio"
	"encoding/json"
	"html"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"orderstock/loadtest/console"
	"orderstock/loadtest/tables"
	"orderstock/loadtest/texts"
	"orderstock/loadtest/verify"
	"orderstock/pkg/httpapi"
)

// attached returns the server of a console whose stack does not answer.
func attached(t *testing.T, cfg console.ServerConfig) *console.Server {
	t.Helper()
	return attachedIn(t, t.TempDir(), cfg)
}

// attachedIn returns one that keeps its runs in a folder.
func attachedIn(t *testing.T, dir string, cfg console.ServerConfig) *console.Server {
	t.Helper()
	c, err := console.Attach(console.Target{Databases: verify.Databases{
		OrderDSN: "u:secret@tcp(127.0.0.1:1)/o", StockDSN: "u:secret@tcp(127.0.0.1:1)/s",
	}}, dir)
	if err != nil {
		t.Fatal(err)
	}
	return console.NewServer(c, cfg)
}

// ask returns the answer to a request, such as "POST http://127.0.0.1/api/stop".
func ask(t *testing.T, h http.Handler, request, body string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	method, url, _ := strings.Cut(request, " ")
	r := httptest.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	maps.Copy(r.Header, header)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

const token = "sixteen-characters"

// bearing returns the header of a request with the token and a JSON body, and more.
func bearing(more http.Header) http.Header {
	h := http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}}
	maps.Copy(h, more)
	return h
}

// TestWhoMayAsk: others are refused, and no answer holds a password or the token.
func TestWhoMayAsk(t *testing.T) {
	const (
		here  = "http://127.0.0.1:8090"
		state = "/api/state"
	)
	var local, remote, named console.ServerConfig
	remote.Remote = true
	named.Remote, named.Hosts = true, []string{"shop.example"}
	for _, test := range []struct {
		name    string
		cfg     console.ServerConfig
		request string
		header  http.Header
		want    int
	}{
		{"no token", local, "GET " + here + state, nil, http.StatusUnauthorized},
		{"no token, the page", local, "GET " + here + "/", nil, http.StatusUnauthorized},
		{"a wrong token", local, "GET " + here + "/?token=wrong", nil, http.StatusUnauthorized},
		{"the token", local, "GET " + here + "/?token=" + token, nil, http.StatusSeeOther},
		{"the token as a header", local, "GET " + here + state, bearing(nil), http.StatusOK},
		{"this machine", local, "GET http://localhost" + state, bearing(nil), http.StatusOK},
		{"another name", local, "GET http://evil.example" + state, bearing(nil), http.StatusMisdirectedRequest},
		{"another address", local, "GET http://10.0.0.7:8090" + state, bearing(nil), http.StatusMisdirectedRequest},
		{"remote, here", remote, "GET " + here + state, bearing(nil), http.StatusOK},
		{"remote", remote, "GET http://10.0.0.7:8090" + state, bearing(nil), http.StatusOK},
		{"remote, a name", remote, "GET http://evil.example" + state, bearing(nil), http.StatusMisdirectedRequest},
		{"remote, its name", named, "GET http://shop.example:8090" + state, bearing(nil), http.StatusOK},
		{
			"another site", local, "POST " + here + "/api/stop",
			bearing(http.Header{"Origin": {"http://evil.example"}}), http.StatusForbidden,
		},
		{
			"not JSON", local, "POST " + here + "/api/stop",
			bearing(http.Header{"Content-Type": {"text/plain"}}), http.StatusUnsupportedMediaType,
		},
		{"no such run", local, "GET " + here + "/api/runs/..%2f..%2fetc", bearing(nil), http.StatusNotFound},
		{"no such order", local, "GET " + here + "/api/orders/x", bearing(nil), http.StatusBadRequest},
	} {
		test.cfg.Token = token
		got := ask(t, attached(t, test.cfg).Handler(), test.request, "", test.header)
		if got.Code != test.want {
			t.Errorf("%s: %d, want %d", test.name, got.Code, test.want)
		}
		if text := got.Body.String(); strings.Contains(text, "secret") || strings.Contains(text, token) {
			t.Errorf("%s: the answer holds a password or the token: %s", test.name, text)
		}
	}
	got := ask(t, attached(t, console.ServerConfig{Token: token}).Handler(),
		"GET "+here+"//evil.example/?token="+token, "", nil)
	if to := got.Header().Get("Location"); to != "/evil.example/" {
		t.Errorf("the token opens %q", to)
	}
}

// TestTwoConsolesInOneBrowser: neither's cookie takes the place of the other's.
func TestTwoConsolesInOneBrowser(t *testing.T) {
	jar := map[string]string{} // a browser's cookies for 127.0.0.1, for all ports
	servers := map[string]http.Handler{}
	for _, base := range []string{"http://127.0.0.1:8090", "http://127.0.0.1:8091"} {
		s := attached(t, console.ServerConfig{})
		servers[base] = s.Handler()
		for _, c := range ask(t, servers[base], "GET "+base+"/?token="+s.Token(), "", nil).Result().Cookies() {
			jar[c.Name] = c.Value
		}
	}
	cookies := http.Header{}
	for name, value := range jar {
		cookies.Add("Cookie", name+"="+value)
	}
	for base, s := range servers {
		if got := ask(t, s, "GET "+base+"/api/state", "", cookies); got.Code != http.StatusOK {
			t.Errorf("%s answers %d", base, got.Code)
		}
	}
}

// TestTheCookieIsNotTheToken: a browser sends it to the servers on all ports of the host.
func TestTheCookieIsNotTheToken(t *testing.T) {
	const base = "http://127.0.0.1:8090"
	handler := attached(t, console.ServerConfig{Token: token}).Handler()
	cookies := ask(t, handler, "GET "+base+"/?token="+token, "", nil).Result().Cookies()
	if len(cookies) != 1 || !strings.HasSuffix(cookies[0].Name, "_8090") || strings.Contains(cookies[0].Value, token) {
		t.Fatalf("the cookies %v, want one that names the port and does not hold the token", cookies)
	}
	for name, header := range map[string]http.Header{
		"the cookie's value as a token": {"Authorization": {"Bearer " + cookies[0].Value}},
		"the token as a cookie":         {"Cookie": {cookies[0].Name + "=" + token}},
		"the cookie of another port":    {"Cookie": {"orderstock_console_8091=" + cookies[0].Value}},
	} {
		if got := ask(t, handler, "GET "+base+"/api/state", "", header); got.Code != http.StatusUnauthorized {
			t.Errorf("%s: %d, want 401", name, got.Code)
		}
	}
}

// TestPageWithoutToken: a browser gets a page with instructions.
func TestPageWithoutToken(t *testing.T) {
	handler := attached(t, console.ServerConfig{}).Handler()
	var page strings.Builder
	answer := ask(t, handler, `GET http://127.0.0.1:8090/?fault=A&x="><script>`, "", nil).Result()
	if err := answer.Write(&page); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"401 Unauthorized", "Content-Type: text/html", "Content-Security-Policy: default-src 'none'",
		`href="/?fault=A&amp;`,
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the answer does not hold %s: %s", want, page.String())
		}
	}
	if strings.Contains(page.String(), "<script") {
		t.Errorf("the address is not escaped: %s", page.String())
	}
	api := ask(t, handler, "GET http://127.0.0.1:8090/api/state", "", nil).Header().Get("Content-Type")
	if !strings.Contains(api, "problem") {
		t.Errorf("the API answers %q", api)
	}
}

// TestAttachedConsoleSaysWhyItBreaksNothing asks for what only a lab can do.
func TestAttachedConsoleSaysWhyItBreaksNothing(t *testing.T) {
	handler := attached(t, console.ServerConfig{Token: token}).Handler()
	for path, body := range map[string]string{
		"/api/play": `{"fault":"A","variant":"broken"}`,
		"/api/act":  `{"action":"kill","target":"stock-1"}`,
		"/api/heal": `{}`,
		"/api/fire": `{"strategy":"unsafe"}`,
	} {
		w := ask(t, handler, "POST http://127.0.0.1"+path, body, bearing(nil))
		var p httpapi.Problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != http.StatusConflict || len(p.Detail) < 40 {
			t.Errorf("%s: %d %s, %v; want a conflict with the reason", path, w.Code, w.Body, err)
		}
	}
}

// TestTracesAreTakenAndNothingElse at the address that asks for no token.
func TestTracesAreTakenAndNothingElse(t *testing.T) {
	handler := attached(t, console.ServerConfig{}).TracesHandler()
	for call, want := range map[string]int{
		"POST /v1/traces": http.StatusOK, "GET /v1/traces": http.StatusMethodNotAllowed,
		"GET /": http.StatusNotFound, "GET /api/state": http.StatusNotFound, "POST /api/orders": http.StatusNotFound,
	} {
		got := ask(t, handler, call, "", http.Header{"Content-Type": {"application/x-protobuf"}})
		if got.Code != want {
			t.Errorf("%s is answered %d, want %d", call, got.Code, want)
		}
	}
}

// TestStalledStreamIsDropped opens a stream and does not read it.
func TestStalledStreamIsDropped(t *testing.T) {
	t.Parallel()
	page, conn := net.Pipe() // it buffers nothing
	defer func() { _ = page.Close() }()
	conns, dropped := make(pipe, 1), make(chan struct{})
	conns <- conn
	handler := attached(t, console.ServerConfig{Token: token}).Handler()
	web := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			defer close(dropped)
			handler.ServeHTTP(w, r)
		})}
	go func() { _ = web.Serve(conns) }() // until it is closed
	defer func() {
		close(conns)
		_ = web.Close()
	}()
	if _, err := page.Write([]byte("GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\n" +
		"Authorization: Bearer " + token + "\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReaderSize(page, 16).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Fatalf("%q, %v", line, err)
	}
	select {
	case <-dropped:
	case <-time.After(console.Patience):
		t.Error("the server still serves the stalled stream")
	}
}

// pipe listens to connections that are made within the process.
type pipe chan net.Conn

func (p pipe) Accept() (net.Conn, error) {
	if conn, ok := <-p; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (pipe) Addr() net.Addr { return &net.TCPAddr{} }

func (pipe) Close() error { return nil }

// TestPagesOfFaults: the console serves the page of every fault, with its recorded run, and it leads nowhere that the
// console does not serve. The list of faults names the tests and the code of each.
func TestPagesOfFaults(t *testing.T) {
	server := attached(t, console.ServerConfig{Token: token}).Handler()
	get := func(path string) *httptest.ResponseRecorder {
		return ask(t, server, "GET http://127.0.0.1:8090"+path, "", bearing(nil))
	}
	var listed []tables.Fault
	if err := json.Unmarshal(get("/api/faults").Body.Bytes(), &listed); err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`href="([^":]+)"`) // not of the icon, which is a part of the page
	for i, f := range tables.Published {
		if !slices.Equal(listed[i].Tests, f.Tests) || listed[i].Source != f.Source {
			t.Errorf("%s: its tests and code are %v, %v", f.Letter, listed[i].Tests, listed[i].Source)
		}
		for name, l := range map[string]*texts.Language{
			"": texts.English(), ".md": texts.English(), ".zh-CN.md": texts.Chinese(),
		} {
			page := get("/faults/" + strings.ToLower(f.Letter) + name)
			if page.Code != http.StatusOK {
				t.Fatalf("%s%s: %d, %s", f.Letter, name, page.Code, page.Body)
			}
			for _, want := range []string{
				`<html lang="` + l.Tag, l.Say(f.Title) + " ·", l.Say("To the console"), "<h1>" + f.Letter + ". " + l.Say(f.Title),
				"<table>", "<td", f.Tests[0].Name, f.Tests[0].File,
			} {
				if !strings.Contains(html.UnescapeString(page.Body.String()), want) {
					t.Errorf("%s%s: its page lacks %s", f.Letter, name, want)
				}
			}
			for _, m := range link.FindAllStringSubmatch(page.Body.String(), -1) {
				to, _, _ := strings.Cut(path.Join("/faults", m[1]), "#")
				if to := get(to); to.Code != http.StatusOK {
					t.Errorf("%s%s: its page links %s, which answers %d", f.Letter, name, m[1], to.Code)
				}
			}
		}
	}
	for _, name := range []string{"z", "a.fr.md", "a.txt", "a.md.md"} {
		page := get("/faults/" + name)
		if page.Code != http.StatusNotFound || !strings.Contains(page.Body.String(), "there ") {
			t.Errorf("a page that is not there, %s: %d, %s", name, page.Code, page.Body)
		}
	}
}
