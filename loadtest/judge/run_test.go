package judge_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"orderstock/loadtest/judge"
	"orderstock/loadtest/judge/shop"
	"orderstock/loadtest/verify"
	"orderstock/pkg/servers"
	"orderstock/pkg/servers/programs"
	"orderstock/pkg/servers/serverstest"
)

// parse returns a file, in the folder dir.
func parse(t *testing.T, dir, text string) *shop.File {
	t.Helper()
	f, err := shop.Parse([]byte(text), nil)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	f.Dir = dir
	return f
}

func run(t *testing.T, cfg judge.Config) *judge.Result {
	t.Helper()
	r, err := judge.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func text(r *judge.Result) string {
	out, _ := json.MarshalIndent(r, "", " ")
	return string(out)
}

// freeAddr returns an address that no connection of another test takes while nothing listens there.
func freeAddr(t *testing.T) string {
	t.Helper()
	port, err := servers.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

// A shop of HTML pages on PostgreSQL, which is killed in the middle, passes in all phases.
func TestAShopOfPagesPasses(t *testing.T) {
	t.Parallel()
	server := serverstest.Start(t, servers.StartPostgreSQL, servers.Options{})
	dsn, addr, dir := server.DSN("postgres"), freeAddr(t), t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := parse(t, dir, fmt.Sprintf(`
target: http://%[1]s
stock: {tea: 40.5, cup: 30}
reset:
  - sql: |
      DROP TABLE IF EXISTS inventory, carts, items, orders;
      CREATE TABLE inventory (product TEXT PRIMARY KEY, available NUMERIC(10,2));
      CREATE TABLE carts (session TEXT, product TEXT, pieces NUMERIC(10,2));
      CREATE TABLE orders (id UUID PRIMARY KEY, key TEXT UNIQUE, state TEXT);
      CREATE TABLE items (order_id UUID, product TEXT, pieces NUMERIC(10,2));
      INSERT INTO inventory VALUES ('tea', 40.50), ('cup', 30);
buyer:
  - get: /login
    capture: {csrf: {regexp: 'name="csrf" value="([^"]+)"'}, session: {cookie: session}}
  - post: /cart
    each: item
    form: {csrf: "{{csrf}}", product: "{{product}}", pieces: "{{pieces}}"}
order:
  post: /checkout
  form: {csrf: "{{csrf}}", key: "{{key}}"}
  baskets: [{tea: 0.5}, {tea: 2.5, cup: 1}, {cup: 3}]
  repeats: key
answers:
  - {status: 303, headers: {Location: ^/orders/}, means: accepted, order: {header: Location, regexp: "/orders/(.+)"}}
  - {status: 200, contains: sold out, means: rejected}
books:
  dsn: "%[2]s"
  stock: SELECT product, available AS pieces FROM inventory
  orders: SELECT o.id, o.key, i.product, i.pieces, o.state FROM orders o LEFT JOIN items i ON i.order_id = o.id
  sold: [null]
service: {start: "SHOP_ADDR=%[1]s SHOP_DSN='%[2]s' exec %[3]s", ready: /health}
`, addr, dsn, self))
	r := run(t, judge.Config{File: f, Clients: 12})
	if r.Outcome != verify.Pass || len(r.Phases) != 5 || r.Phases[3].Kills == 0 || r.Phases[3].Accepted == 0 {
		t.Errorf("%s\n%s", r, text(r))
	}
	var out bytes.Buffer
	tried, err := judge.Try(t.Context(), judge.Config{File: f}, &out)
	if err != nil || tried.Outcome != verify.Pass {
		t.Errorf("try: %v, %v\n%s\n%s", tried, err, &out, text(tried))
	}
	for _, want := range []string{
		"reset   1 steps done", "→ 303", "read as: accepted, order", "books: new row: order", "read as: rejected",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("try did not print %q:\n%s", want, &out)
		}
	}
	// The service is stopped at the end.
	if conn, err := net.Dial("tcp", addr); err == nil {
		_ = conn.Close()
		t.Error("the service still answers")
	}
}

// counter is a shop in memory that is right, unless wrong is set: it never checks.
type counter struct {
	mu    sync.Mutex
	left  int
	ids   map[string]int
	wrong bool
	limit int // calls that it answers; 0: all
	calls int
	keeps bool // the keys outlive a reset
}

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	if r.URL.Path == "/login" {
		return
	}
	if r.URL.Path != "/orders" {
		c.left = 20
		if !c.keeps || c.ids == nil {
			c.ids = map[string]int{}
		}
		return
	}
	if c.calls++; c.limit > 0 && c.calls > c.limit {
		http.Error(w, "too many requests", http.StatusTooManyRequests)
		return
	}
	id, again := c.ids[key]
	switch {
	case again && id == 0, !again && c.left == 0 && !c.wrong:
		c.ids[key] = 0
		http.Error(w, `{"error":"sold out"}`, http.StatusConflict)
		return
	case !again:
		c.left--
		id = len(c.ids) + 1
		c.ids[key] = id
	}
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"id":%d}`, id)
}

// memory is the file of a counter. It has no books.
const memory = `
stock: {"1": 20}
order: {post: /orders, headers: {Idempotency-Key: "{{key}}"}, repeats: key}
answers:
  - {status: 201, means: accepted, order: $.id}
  - {status: 409, contains: sold out, means: rejected}
settle: 1s
timeout: 60s
`

// serve serves a shop, and returns the beginning of its file.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return "target: " + server.URL
}

const resetByRequest = "\nreset: [{post: /reset}]"

func TestAnswersAlone(t *testing.T) {
	t.Parallel()
	f := parse(t, "", serve(t, &counter{})+resetByRequest+memory)
	if r := run(t, judge.Config{File: f}); r.Outcome != verify.Pass || len(r.Phases) != 5 || r.Phases[3].Skipped == "" {
		t.Errorf("a right shop: %s\n%s", r, text(r))
	} else if s := r.Sheet(); !r.AnswersAlone || !strings.HasPrefix(s.Sentence, "By the answers alone") {
		t.Errorf("a pass by the answers alone is said to be: %s\n%s", s.Sentence, text(r))
	}
	f = parse(t, "", serve(t, &counter{wrong: true})+resetByRequest+memory)
	r := run(t, judge.Config{File: f, Phases: []string{judge.Alone}})
	if r.Outcome != verify.Violation || !slices.Equal(r.Phases[0].Violated(), []string{judge.NotOversold}) {
		t.Errorf("a shop that oversells: %s\n%s", r, text(r))
	}
	e := r.Phases[0].Violations[0].Examples[0]
	if e.Key == "" || len(e.Calls) == 0 || e.Calls[0].Status != http.StatusCreated {
		t.Errorf("the example cannot be followed: %+v", e)
	}
}

// A shop that keeps keys for good is right, and so is each later run over it, whichever variable is the key.
func TestALaterRunHasNewKeys(t *testing.T) {
	t.Parallel()
	for _, variable := range []string{"key", "uuid", "n"} {
		byIt := strings.Replace(memory, "{{key}}", "{{"+variable+"}}", 1)
		f := parse(t, "", serve(t, &counter{keeps: true})+resetByRequest+byIt)
		for i, orders := range []int{30, 60} {
			if r := run(t, judge.Config{File: f, Orders: orders}); r.Outcome != verify.Pass {
				t.Errorf("{{%s}} is the key, run %d: %s\n%s", variable, i+1, r, text(r))
			}
		}
	}
}

// No two phases share a serial, even if their runs begin at the same moment. The numbers of orders begin at 1.
func TestSerialsAreUnique(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	resets, numbers := map[string]int{}, map[string]int{}
	shop := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Method == http.MethodPut {
			resets[r.URL.Path]++
			return
		}
		numbers[r.URL.Path]++
		http.Error(w, "sold out", http.StatusConflict)
	}))
	f := parse(t, "", shop+"\nreset: [{put: \"/{{serial}}\"}]"+
		strings.Replace(memory, "post: /orders", `post: "/{{i}}"`, 1))
	var runs sync.WaitGroup
	for range 10 {
		runs.Go(func() { run(t, judge.Config{File: f, Orders: 3, Phases: []string{judge.Alone, judge.Together}}) })
	}
	runs.Wait()
	if len(resets) != 20 {
		t.Errorf("20 phases had %d serials: %v", len(resets), resets)
	}
	if want := map[string]int{"/1": 20, "/2": 20, "/3": 20, "/4": 20}; !maps.Equal(numbers, want) {
		t.Errorf("orders had the numbers %v; want %v", numbers, want)
	}
}

// progress keeps the lines of progress.
type progress struct {
	mu    sync.Mutex
	lines []string
	next  chan struct{} // closed at the next line
}

func (p *progress) Write(line []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, string(line))
	if p.next != nil {
		close(p.next)
		p.next = nil
	}
	return len(line), nil
}

// await waits for the next line.
func (p *progress) await() {
	p.mu.Lock()
	if p.next == nil {
		p.next = make(chan struct{})
	}
	next := p.next
	p.mu.Unlock()
	<-next
}

// Progress never goes back, as it would if the repeats at the end were no part of it from the beginning.
func TestProgressDoesNotGoBack(t *testing.T) {
	t.Parallel()
	shown, shop := &progress{}, &counter{left: 20, ids: map[string]int{}}
	var mu sync.Mutex // a double click comes twice at the same moment
	keys, last, waited := map[string]bool{}, "", false
	const orders = 30
	f := parse(t, "", serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		key := r.Header.Get("Idempotency-Key")
		switch {
		case !keys[key]:
			keys[key], last = true, key
			if len(keys) == orders {
				shown.await() // at the last order
			}
		case len(keys) == orders && key != last && !waited:
			waited = true
			shown.await() // at the first repeat after it
		}
		shop.ServeHTTP(w, r)
	}))+memory)
	run(t, judge.Config{File: f, Orders: orders, Clients: 2, Phases: []string{judge.Repeated}, Progress: shown})
	before := 0
	for _, line := range shown.lines {
		now, err := strconv.Atoi(strings.TrimSpace(line[:strings.Index(line, "%")]))
		if err != nil || now < before {
			t.Errorf("%v; progress went back: %q", err, shown.lines)
		}
		before = now
	}
	if !waited || len(shown.lines) < 2 {
		t.Errorf("progress was %q; want a line in both parts", shown.lines)
	}
}

// While the books stay wrong, they are read again until the time to settle is over; most of that time is a pause, so
// that large books cost the database little.
func TestTheBooksAreNotReadAllTheTime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := parse(t, dir, serve(t, &counter{})+resetByRequest+strings.Replace(memory, "settle: 1s", "settle: 3s", 1)+`
books: {command: "echo read >>reads; sleep 0.2; printf 'product,pieces\\n1,20\\n'", stock: x}`)
	start := time.Now()
	r := run(t, judge.Config{File: f, Phases: []string{judge.Alone}})
	took := time.Since(start)
	reads, err := os.ReadFile(filepath.Join(dir, "reads"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(reads), "read"); r.Outcome != verify.Unknown || took < 3*time.Second || n > 6 || n < 3 {
		t.Errorf("%s after %s and %d reads; want unknown after 3 s and at most 6 reads", r, took, n)
	}
}

// However long a read of the books takes, a shop that is right passes. Books are said to change if they do so in the
// reads after the time to settle.
func TestBooksThatAreReadSlowly(t *testing.T) {
	t.Parallel()
	for add, right := range map[string]bool{"0": true, "$(wc -l <reads)": false} { // to the pieces, as they are read
		t.Run("add "+add, func(t *testing.T) {
			t.Parallel()
			dir, s := t.TempDir(), &counter{}
			f := parse(t, dir, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				s.ServeHTTP(w, r) // one client: nobody else writes the file
				if err := os.WriteFile(filepath.Join(dir, "left"), fmt.Append(nil, s.left), 0o600); err != nil {
					t.Error(err)
				}
			}))+resetByRequest+strings.Replace(memory, "settle: 1s", "settle: 200ms", 1)+`
books:
  command: >-
    printf 'product,pieces\n1,%d\n' $(($(cat left) + `+add+`)); sleep 0.4;
    if [ $(cat left) = 0 ]; then echo >>reads; fi
  stock: x`)
			if err := os.WriteFile(filepath.Join(dir, "reads"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			r := run(t, judge.Config{File: f, Phases: []string{judge.Alone}})
			const changes = "the books still change 200ms after the last answer"
			if (r.Outcome == verify.Pass) != right || strings.Contains(text(r), changes) == right {
				t.Errorf("%s\n%s", r, text(r))
			}
		})
	}
}

// A command that leaves a process behind keeps neither a reset nor a read of the books waiting.
func TestCommandsMayLeaveProcessesBehind(t *testing.T) {
	t.Parallel()
	const behind = "sleep 600 & echo $! >>pids; "
	dir := t.TempDir()
	f := parse(t, dir, serve(t, &counter{})+"\nreset: [{post: /reset}, {command: '"+behind+"'}]"+memory+
		`books: {command: "`+behind+`printf 'product,pieces\\n1,20\\n'", stock: x}`)
	t.Cleanup(func() {
		if out, err := exec.Command("sh", "-c", "kill $(cat "+filepath.Join(dir, "pids")+")").CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := judge.Run(ctx, judge.Config{File: f, Phases: []string{judge.Alone}})
	if err != nil || !strings.Contains(text(r), "neither the stock nor the orders in the books have changed") {
		t.Errorf("%v\n%s", err, text(r))
	}
}

// A shop may compress its answers, although nobody asked for it.
func TestCompressedAnswers(t *testing.T) {
	t.Parallel()
	shop := &counter{}
	f := parse(t, "", serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		shop.ServeHTTP(answer, r)
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(answer.Code)
		zip := gzip.NewWriter(w)
		_, _ = zip.Write(answer.Body.Bytes())
		_ = zip.Close()
	}))+"\nbuyer: [{get: /login}]"+resetByRequest+memory)
	if r := run(t, judge.Config{File: f}); r.Outcome != verify.Pass {
		t.Errorf("%s\n%s", r, text(r))
	}
}

// An https:// address is judged as any other. A certificate that nobody knows is named, unless the file accepts it.
func TestHTTPS(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(&counter{})
	t.Cleanup(server.Close)
	head := "target: " + server.URL + "\nbuyer: [{get: /login}]" + resetByRequest
	f := parse(t, "", "insecure: true\n"+head+memory)
	if r := run(t, judge.Config{File: f}); r.Outcome != verify.Pass || r.Phases[1].Accepted != 20 {
		t.Errorf("%s\n%s", r, text(r))
	}
	r := run(t, judge.Config{File: parse(t, "", head+memory)})
	if r.Outcome != verify.Unknown || !strings.Contains(text(r), "insecure: true in the file accepts it") {
		t.Errorf("%s\n%s", r, text(r))
	}
}

// With http2: true, all requests go by HTTP/2, and the orders of a wave overlap as they do by HTTP/1.1.
func TestHTTP2(t *testing.T) {
	t.Parallel()
	const meeting = 10
	var other, together atomic.Int64
	var meet sync.WaitGroup
	meet.Add(meeting)
	shop := &counter{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			other.Add(1)
		}
		if strings.Contains(r.Header.Get("Idempotency-Key"), "-"+judge.Together+"-") && together.Add(1) <= meeting {
			meet.Done()
			meet.Wait()
		}
		shop.ServeHTTP(w, r)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	f := parse(t, "", "target: "+server.URL+"\ninsecure: true\nhttp2: true\nbuyer: [{get: /login}]"+resetByRequest+memory)
	r := run(t, judge.Config{File: f})
	if r.Outcome != verify.Pass || r.Phases[1].Accepted != 20 || other.Load() > 0 {
		t.Errorf("%d calls by another version; want 0\n%s", other.Load(), text(r))
	}
}

// inFlight counts the orders that a shop which accepts all is working on at the same time.
type inFlight struct{ now, most, ids atomic.Int64 }

func (s *inFlight) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		now := s.now.Add(1)
		for most := s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); most = s.most.Load() {
		}
		time.Sleep(20 * time.Millisecond)
		s.now.Add(-1)
	}
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"id":%d}`, s.ids.Add(1))
}

// A kill comes when orders have been acknowledged, however many clients there are: else nothing could be forgotten.
func TestAKillDoesNotComeBeforeTheFirstAnswers(t *testing.T) {
	t.Parallel()
	s := &inFlight{}
	head, service := killable(t, s)
	f := parse(t, "", head+strings.Replace(memory, "repeats: key", "repeats: none", 1)+service+"}")
	r := run(t, judge.Config{File: f, Clients: 100, Orders: 60, Phases: []string{judge.Killed}})
	if most := s.most.Load(); most > 15 || most == 0 || r.Phases[0].Kills == 0 {
		t.Errorf("%d orders at the same time, %d kills; want at most a quarter of 60, and a kill\n%s",
			most, r.Phases[0].Kills, text(r))
	}
}

// In the phase alone, nothing overlaps, the steps of the buyers neither.
func TestAloneIsOneBuyerAfterAnother(t *testing.T) {
	t.Parallel()
	s, shop := &inFlight{}, &counter{}
	f := parse(t, "", serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/cart" {
			s.ServeHTTP(w, r)
			return
		}
		shop.ServeHTTP(w, r)
	}))+"\nbuyer: [{post: /cart}]"+resetByRequest+memory)
	r := run(t, judge.Config{File: f, Phases: []string{judge.Alone}})
	if most := s.most.Load(); most != 1 || r.Outcome != verify.Pass {
		t.Errorf("%d buyers at the same time; want 1\n%s", most, text(r))
	}
}

// A kill may take so many orders of a shop without keys that the others do not empty the stock: more are sent, until
// one is rejected, or more are accepted than there is.
func TestOrdersThatAKillTookAreMadeUpFor(t *testing.T) {
	t.Parallel()
	for _, wrong := range []bool{false, true} {
		var lost atomic.Int64
		shop := &counter{wrong: wrong}
		head, service := killable(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/orders" && lost.Add(1) <= 14 {
				panic(http.ErrAbortHandler)
			}
			shop.ServeHTTP(w, r)
		}))
		once := strings.Replace(memory, "repeats: key", "repeats: none", 1)
		f := parse(t, "", head+resetByRequest+once+service+", ready: /login}")
		r := run(t, judge.Config{File: f, Clients: 4, Phases: []string{judge.Killed}})
		p := &r.Phases[0]
		if !wrong && (r.Outcome != verify.Pass || p.Accepted != 20 || p.Rejected == 0) ||
			wrong && !slices.Equal(p.Violated(), []string{judge.NotOversold}) {
			t.Errorf("wrong %t: %s\n%s", wrong, p.Line(), text(r))
		}
	}
}

// What people get wrong is unknown, with the reason, and never a pass.
func TestWrongUseIsUnknown(t *testing.T) {
	t.Parallel()
	busy := serve(t, http.NotFoundHandler())
	for name, c := range map[string]struct{ head, old, new, tail, want string }{
		"nothing answers":      {head: "target: http://" + freeAddr(t), want: "nothing answers at"},
		"HTTP/2 is not spoken": {head: busy + "\nhttp2: true", want: "the service does not speak HTTP/2"},
		"the file's stock is not the books'": {
			head: serve(t, &counter{left: 20, ids: map[string]int{}}),
			tail: "books: {command: \"printf 'product,pieces\\\\n1,7\\\\n'\", stock: x}",
			want: "the books have 7 pieces of product 1, and the file says 20: reset:",
		},
		"the product is not in the books": {
			head: serve(t, &counter{left: 20, ids: map[string]int{}}),
			tail: "books: {command: \"printf 'product,pieces\\\\nticket,7\\\\n'\", stock: x}",
			want: `no product "1"; it finds "ticket"`,
		},
		"the reset does not bring it there": {
			head: serve(t, &counter{}) + resetByRequest,
			tail: "books: {command: \"printf 'product,pieces\\\\n1,7\\\\n'\", stock: x}",
			want: "after reset, the books have 7 pieces",
		},
		"the reset fails": {
			head: serve(t, http.NotFoundHandler()) + resetByRequest, want: "reset: POST /reset was answered 404",
		},
		"the books are those of another shop": {
			head: serve(t, &counter{}) + resetByRequest,
			tail: "books: {command: \"printf 'product,pieces\\\\n1,20\\\\n'\", stock: x}",
			want: "neither the stock nor the orders in the books have changed",
		},
		"the books cannot be read": {
			head: serve(t, &counter{}) + resetByRequest, tail: "books: {command: exit 3, stock: x}", want: "exit status 3",
		},
		"a rate limit": {
			head: serve(t, &counter{limit: 5}) + resetByRequest,
			want: "most orders have no known end: 25× 429 too many requests",
		},
		"a wrong path": {head: busy, want: "most orders have no known end: 30× 404 404 page not found"},
		"a login that failed": {
			head: busy + "\nbuyer: [{post: /login, capture: {token: $.token}}]",
			want: "a step of the buyer failed: 404 404 page not found (POST /login)",
		},
		"a capture that finds nothing": {
			head: serve(t, &counter{}) + "\nbuyer: [{post: /reset, capture: {token: $.token}}]",
			want: "capture token: nothing at $[\"token\"] in the answer 200",
		},
		"the refusal is not under answers": {
			head: serve(t, &counter{}) + resetByRequest, old: "contains: sold out", new: "contains: no more",
			want: "nothing was accepted too much: is the refusal under answers? 10× 409",
		},
		"the order's id is elsewhere": {
			head: serve(t, &counter{}) + resetByRequest, old: "order: $.id", new: "order: $.order.id",
			want: "it has no order id at $[\"order\"][\"id\"]",
		},
		"the service ends before it is ready": {
			head: "target: http://" + freeAddr(t), tail: "service: {start: 'echo boom >&2; exit 3'}",
			want: "the service ended before it was ready: exit status 3\nboom",
		},
		"the service is never ready": {
			head: "target: http://" + freeAddr(t), tail: "service: {start: exec sleep 100, within: 200ms}",
			want: "the service is not ready after 200ms",
		},
		"another process answers": {head: busy, tail: "service: {start: exec sleep 100}", want: "another process answers at"},
		"what is killed is not what serves": {
			head: serve(t, &counter{}) + "\nreset: [{post: /reset}, {restart: true}]",
			tail: "service: {kill: 'true', start: 'true'}", want: "was killed, and another process answers at",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := strings.Replace(memory, c.old, c.new, 1)
			f := parse(t, t.TempDir(), c.head+body+c.tail)
			r := run(t, judge.Config{File: f, Phases: []string{judge.Alone}})
			reasons := strings.Join(r.Reasons, "\n")
			for _, p := range r.Phases {
				reasons += strings.Join(p.Reasons, "\n")
			}
			if r.Outcome != verify.Unknown || !strings.Contains(reasons, c.want) {
				t.Errorf("%s, %q; want unknown: %s\n%s", r.Outcome, reasons, c.want, text(r))
			}
		})
	}
}

// Without reset, books or names with {{phase}}, the stock is known before the first phase only.
func TestOnePhaseWithoutReset(t *testing.T) {
	t.Parallel()
	f := parse(t, "", serve(t, &counter{left: 20, ids: map[string]int{}})+memory)
	r := run(t, judge.Config{File: f})
	if r.Phases[0].Outcome != verify.Pass || r.Phases[1].Outcome != verify.Unknown || r.Outcome != verify.Unknown {
		t.Errorf("%s\n%s", r, text(r))
	}
}

// A try shows the rows as they are once the shop has finished with them, also if it does so after its answer.
func TestATryShowsTheBooksOnceTheyHaveSettled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, rows string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("id,product,pieces,state\n"+rows), 0o600); err != nil {
			t.Error(err)
		}
	}
	shop := &counter{}
	f := parse(t, dir, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/orders" && len(shop.ids) == 0 {
			write("next1", "1,1,1,PENDING\n")
			write("next2", "1,1,1,PAID\n")
		}
		shop.ServeHTTP(w, r)
		if r.URL.Path != "/orders" {
			shop.left = 1
			write("rows", "")
		}
	}))+resetByRequest+strings.NewReplacer(`"1": 20`, `"1": 1`, "settle: 1s", "settle: 1m").Replace(memory)+`
books: # with each read, the shop does its next step; the first one takes longer than rows must stay as they are
  command: >-
    cat rows; if [ -f next1 ]; then sleep 1.1; fi;
    for next in next1 next2; do if [ -f $next ]; then mv $next rows; break; fi; done
  orders: x
  sold: [PAID]`)
	var out bytes.Buffer
	r, err := judge.Try(t.Context(), judge.Config{File: f}, &out)
	if err != nil || r.Outcome != verify.Pass {
		t.Fatalf("%v\n%s\n%s", err, &out, text(r))
	}
	_, after, _ := strings.Cut(out.String(), "books: ")
	if !strings.HasPrefix(after, "new row: order 1: 1 of product 1, state PAID\n") {
		t.Errorf("printed\n%s", &out)
	}
}

// A verdict that no change in the books could better does not wait for one.
func TestNothingIsAwaitedAfterAFailedLogin(t *testing.T) {
	t.Parallel()
	text := strings.Replace(memory, "settle: 1s", "settle: 10m", 1) +
		"buyer: [{post: /nowhere, expect: 299}]\nbooks: {command: 'echo id,product,pieces', orders: x}"
	f := parse(t, t.TempDir(), serve(t, &counter{})+resetByRequest+text)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := judge.Try(ctx, judge.Config{File: f}, &bytes.Buffer{})
	if err != nil || r.Outcome != verify.Unknown {
		t.Errorf("%v, %v", r, err)
	}
}

// lineWriter hands on each line that is written.
type lineWriter chan string

func (w lineWriter) Write(line []byte) (int, error) {
	w <- string(line)
	return len(line), nil
}

// The wait for a service that is not ready says what it waits for.
func TestTheWaitForAServiceSaysWhy(t *testing.T) {
	t.Parallel()
	lines := make(lineWriter)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	f := parse(t, t.TempDir(), serve(t, &counter{calls: 1, limit: 1})+memory+
		"service: {kill: 'true', start: 'true', ready: /orders, within: 10m}")
	ended := make(chan error, 1)
	go func() {
		_, err := judge.Run(ctx, judge.Config{File: f, Progress: lines})
		ended <- err
	}()
	select {
	case line := <-lines:
		want := "waiting for the service: GET " + f.Target + "/orders: 429 too many requests"
		if !strings.Contains(line, want) {
			t.Errorf("printed %q; want %s", line, want)
		}
	case err := <-ended:
		t.Fatalf("it ended without a word: %v", err)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("the wait did not end with its context")
	}
}

// A service that will never be ready is not waited for.
func TestADefiniteAnswerEndsTheWaitForAService(t *testing.T) {
	t.Parallel()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	plain := strings.TrimPrefix(serve(t, http.NotFoundHandler()), "target: ")
	for target, want := range map[string]string{
		secure.URL: "insecure: true in the file accepts it",
		strings.Replace(plain, "http:", "https:", 1):      "the service does not speak https: write target: http://",
		strings.Replace(secure.URL, "https:", "http:", 1): "the service speaks https: write target: https://",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		f := parse(t, t.TempDir(), "target: "+target+memory+
			"service: {kill: 'true', start: 'true', ready: /login, within: 10m}")
		r, err := judge.Run(ctx, judge.Config{File: f})
		if err != nil || len(r.Reasons) == 0 || !strings.Contains(r.Reasons[0], want) {
			t.Errorf("%s: %v, %v; want %s", target, r, err, want)
		} else if send := "GET /login: "; target == secure.URL && !strings.HasPrefix(r.Reasons[0], send) {
			t.Errorf("%s: %s; want %s", target, r.Reasons[0], send)
		}
	}
}

// A shop that forgets one order is found out in SQLite.
func TestBooksOfSQLite(t *testing.T) {
	t.Parallel()
	sqlite, err := programs.SQLite.Find()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	sql := func(statements string) error {
		return exec.Command(sqlite, filepath.Join(dir, "shop.db"), statements).Run()
	}
	n, forget := 0, false
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, _ *http.Request) {
		if n++; n > 5 {
			http.Error(w, "sold out", http.StatusConflict)
			return
		}
		statements := fmt.Sprintf("INSERT INTO orders VALUES (%d); UPDATE stock SET n = n - 1", n)
		if forget && n == 3 {
			statements = "SELECT 1"
		}
		if err := sql(statements); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"id":"%d"}`, n)
	})
	f := parse(t, dir, serve(t, mux)+`
stock: {ticket: 5}
reset:
  - command: touch shop.db
  - sql: |
      DROP TABLE IF EXISTS stock; DROP TABLE IF EXISTS orders; CREATE TABLE stock (name, n);
      INSERT INTO stock VALUES ('ticket', 5); CREATE TABLE orders (id)
order: {post: /orders, repeats: none}
answers:
  - {status: 201, means: accepted, order: $.id}
  - {status: 409, contains: sold out, means: rejected}
books:
  dsn: sqlite:shop.db
  stock: SELECT name AS product, n AS pieces FROM stock
  orders: SELECT id, 'ticket' AS product, 1 AS pieces FROM orders
settle: 500ms
`)
	one := []string{judge.Alone}
	if r := run(t, judge.Config{File: f, Phases: one}); r.Outcome != verify.Pass {
		t.Errorf("a right shop: %s\n%s", r, text(r))
	}
	n, forget = 0, true
	r := run(t, judge.Config{File: f, Phases: one})
	if !slices.Equal(r.Phases[0].Violated(), []string{judge.AcceptedIsKept}) {
		t.Errorf("a shop that forgets: %s\n%s", r, text(r))
	}
}
