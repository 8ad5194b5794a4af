package judge_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"orderstock/loadtest/judge"
	"orderstock/loadtest/judge/shop"
	"orderstock/loadtest/verify"
)

// reserving is a shop in memory whose orders are paid after they are placed, and can be cancelled. It is right, unless
// a mistake is named.
type reserving struct {
	mistake string
	dir     string // for its books: the files stock and orders; "" for none
	mu      sync.Mutex
	left    int
	state   []string // of each order, whose id counts from 1
	keys    map[string]int
}

func (s *reserving) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.write()
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch login := r.Header.Get("Authorization"); {
	case path[0] == "login":
		fmt.Fprint(w, `{"token":"secret"}`)
		return
	case path[0] == "orders" && login != "" && login != "Bearer secret":
		http.Error(w, "log in first", http.StatusUnauthorized)
		return
	case path[0] != "orders":
		s.left, s.state, s.keys = 20, nil, map[string]int{}
		return
	}
	if len(path) == 1 {
		s.order(w, r.Header.Get("Idempotency-Key"))
		return
	}
	id, _ := strconv.Atoi(path[1])
	state := &s.state[id-1]
	switch {
	case r.Method == http.MethodGet:
	case path[2] == "pay" && r.Header.Get("Ticket") != fmt.Sprintf("t%d", id):
		http.Error(w, "this is not yours", http.StatusForbidden)
		return
	case path[2] == "cancel" && s.mistake == "declines" && *state == "FAILED":
		http.Error(w, "it has failed", http.StatusConflict)
		return
	case path[2] == "cancel" && s.mistake == "strict" && *state == "PLACED":
		http.Error(w, "pay it first", http.StatusConflict)
		return
	case path[2] == "pay" && *state == "PLACED" && (s.mistake == "blind" || s.mistake == "slow"):
		s.mu.Unlock()
		time.Sleep(20 * time.Millisecond) // the bank
		s.mu.Lock()
		if state = &s.state[id-1]; *state != "PLACED" && s.mistake == "slow" {
			http.Error(w, "paid twice", http.StatusConflict)
			return
		}
		*state = "PAID"
	case path[2] == "pay" && *state != "PLACED":
		http.Error(w, "paid twice", http.StatusConflict)
		return
	case path[2] == "pay" && s.mistake == "late" && s.left == 0:
		*state = "FAILED"
	case path[2] == "pay" && s.mistake == "declines" && id%5 == 0:
		*state = "FAILED"
		s.left++
	case path[2] == "pay":
		if *state = "PAID"; s.mistake == "late" {
			s.left--
		}
	case s.mistake == "never":
		*state = "CANCELLED"
	case *state != "CANCELLED" || s.mistake == "twice":
		if s.mistake != "late" || *state == "PAID" { // else it has taken none yet
			s.left++
		}
		*state = "CANCELLED"
	}
	fmt.Fprintf(w, `{"state":%q}`, *state)
}

// write writes the books.
func (s *reserving) write() {
	if s.dir == "" {
		return
	}
	orders := "id,product,pieces,state\n"
	for i, state := range s.state {
		if s.mistake == "forgets" && i%5 == 4 && state == "PAID" {
			state = "PLACED"
		}
		orders += fmt.Sprintf("%d,1,1,%s\n", i+1, state)
	}
	for name, text := range map[string]string{"stock": fmt.Sprintf("product,pieces\n1,%d\n", s.left), "orders": orders} {
		file := filepath.Join(s.dir, name)
		if err := errors.Join(os.WriteFile(file+".new", []byte(text), 0o600), os.Rename(file+".new", file)); err != nil {
			panic(err)
		}
	}
}

const reservingBooks = `books:
  stock: {command: cat stock}
  orders: {command: cat orders}
  sold: [PAID]
  void: [FAILED, CANCELLED]
`

func (s *reserving) order(w http.ResponseWriter, key string) {
	id, again := s.keys[key]
	switch {
	case again:
	case s.left == 0 && s.mistake != "late":
		http.Error(w, "sold out", http.StatusConflict)
		return
	default:
		if s.mistake != "late" { // that one takes the piece when it is paid
			s.left--
		}
		s.state = append(s.state, "PLACED")
		id = len(s.state)
		s.keys[key] = id
	}
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"id":%d,"ticket":"t%d"}`, id, id)
}

const reservingFile = `
stock: {"1": 20}
reset: [{post: /reset}]
order: {post: /orders, headers: {Idempotency-Key: "{{key}}"}, repeats: key, capture: {ticket: $.ticket}}
answers:
  - {status: 201, means: pending, order: $.id}
  - {status: 409, contains: sold out, means: rejected}
then:
  - {post: "/orders/{{order}}/pay", headers: {Ticket: "{{ticket}}"}}
  - get: /orders/{{order}}
    poll: true
    answers: [{$.state: PAID, means: accepted}, {$.state: FAILED, means: rejected}]
cancel: {post: "/orders/{{order}}/cancel"}
settle: 1s
`

// An order is paid once, and its last step decides. A cancelled one gives back its pieces once.
func TestOrdersArePaidAndCancelled(t *testing.T) {
	t.Parallel()
	for mistake, want := range map[string]struct{ phase, violated string }{
		"": {}, "late": {}, "declines": {}, // they refuse when an order is paid, and that is no mistake
		"twice": {judge.Cancelled, judge.NotOversold}, "never": {judge.Cancelled, judge.RejectedOnlyWhenShort},
	} {
		t.Run("mistake "+mistake, func(t *testing.T) {
			t.Parallel()
			f := parse(t, "", serve(t, &reserving{mistake: mistake})+reservingFile)
			dir := filepath.Join(t.TempDir(), "evidence")
			r := run(t, judge.Config{File: f, Clients: 8, Out: dir})
			if again, err := judge.Again(t.Context(), dir); err != nil || again.Outcome != r.Outcome {
				t.Errorf("judged again: %v, %v", again, err)
			}
			declined := 0
			if mistake == "declines" { // of the last orders, for whose pieces nobody comes
				declined = 2
			}
			for _, p := range r.Phases {
				switch {
				case p.Name == want.phase && !slices.Contains(p.Violated(), want.violated),
					p.Name != want.phase && p.Skipped == "" && p.Outcome != verify.Pass,
					p.Name == judge.Cancelled && p.Cancelled == 0,
					p.Skipped == "" && (p.Accepted+p.Pending < 20-declined || p.Rejected == 0):
					t.Errorf("want violated %v\n%s", want, text(r))
				}
			}
		})
	}
}

// The example file for a payment has https, a login and a payment.
func TestTheExampleOfAPayment(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile(filepath.Join("example", "payment.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for mistake, want := range map[string]verify.Outcome{"": verify.Pass, "twice": verify.Violation} {
		server := httptest.NewTLSServer(&reserving{mistake: mistake})
		t.Cleanup(server.Close)
		f := parse(t, "", strings.Replace(string(file), "https://127.0.0.1:8443", server.URL, 1)+"settle: 1s\n")
		r := run(t, judge.Config{File: f})
		if r.Outcome != want || phaseOf(r, judge.Cancelled).Cancelled == 0 {
			t.Errorf("mistake %q: %s\n%s", mistake, r, text(r))
		}
	}
}

// A payment that comes at the same moment as a cancel leaves the order paid or cancelled, and the books show which. A
// refusal of one of them is no mistake.
func TestAPaymentAtTheMomentOfACancel(t *testing.T) {
	t.Parallel()
	for mistake, want := range map[string]verify.Outcome{
		"": verify.Pass, "slow": verify.Pass, "strict": verify.Pass, "late": verify.Pass, "blind": verify.Violation,
	} {
		t.Run("mistake "+mistake, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := strings.Replace(reservingFile, `headers: {Ticket: "{{ticket}}"}}`,
				`headers: {Ticket: "{{ticket}}"}, answers: [{status: 409, contains: paid twice, means: rejected}]}`, 1)
			f := parse(t, dir, serve(t, &reserving{mistake: mistake, dir: dir})+file+reservingBooks)
			r := run(t, judge.Config{File: f, Clients: 8})
			p := phaseOf(r, judge.Cancelled)
			if r.Outcome != want || p.Outcome != want || p.Cancelled == 0 {
				t.Errorf("want %s: %s\n%s", want, r, text(r))
			}
			var out strings.Builder
			if r.Write(&out); !strings.Contains(out.String(), "not checked: a payment that is sent twice: ") {
				t.Errorf("printed\n%s", &out)
			}
			if want == verify.Violation && !slices.Contains(p.Violated(), judge.CancelledIsNotSold) {
				t.Errorf("violated %v\n%s", p.Violated(), text(r))
			}
		})
	}
}

// An order that was paid, and stays in the state that it had before, is not settled, also if no file lists that state:
// the books were read before the payment, too.
func TestAPaymentThatIsForgotten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := parse(t, dir, serve(t, &reserving{mistake: "forgets", dir: dir})+reservingFile+reservingBooks)
	r := run(t, judge.Config{File: f, Phases: []string{judge.Alone, judge.Together}})
	for _, p := range r.Phases[:2] {
		if !slices.Contains(p.Violated(), judge.Settled) {
			t.Errorf("%s: want %s; %v", p.Line(), judge.Settled, p.Reasons)
		}
	}
}

// Orders are cancelled in four forms: once, with the payment, twice at the same moment, and again after a second. Then
// what was sold out is bought again.
func TestTheFormsOfACancel(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "evidence")
	f := parse(t, "", serve(t, &reserving{})+reservingFile)
	r := run(t, judge.Config{File: f, Clients: 8, Phases: []string{judge.Cancelled}, Out: dir})
	kept, err := os.ReadFile(filepath.Join(dir, "cancelled.json"))
	if err != nil {
		t.Fatal(err)
	}
	var phase struct {
		Evidence struct{ Orders []judge.Order }
	}
	if err := json.Unmarshal(kept, &phase); err != nil {
		t.Fatal(err)
	}
	forms, bought := map[string]int{}, 0
	for _, o := range phase.Evidence.Orders {
		race := slices.ContainsFunc(o.Calls, func(c judge.Call) bool { return c.Kind == judge.Race })
		cancels := slices.DeleteFunc(o.Calls, func(c judge.Call) bool { return c.Kind != judge.Cancel })
		switch {
		case race:
			forms["race"]++
		case len(cancels) == 0:
			bought++
		case len(cancels) == 1:
			forms["once"]++
		case max(cancels[0].Sent, cancels[1].Sent) < min(cancels[0].Done, cancels[1].Done):
			forms["twice"]++
		case cancels[1].Sent-cancels[0].Done > time.Second/2:
			forms["later"]++
		}
	}
	p := r.Phases[0]
	if r.Outcome != verify.Pass || forms["once"]*forms["twice"]*forms["later"]*forms["race"] == 0 ||
		forms["once"]+forms["twice"]+forms["later"]+forms["race"] != p.Cancelled ||
		p.Accepted+p.Pending-p.Cancelled != 20 {
		t.Errorf("forms %v, %d not cancelled\n%s", forms, bought, text(r))
	}
}

// A step after the order that cannot be done is a reason not to know, and named.
func TestAStepThatCannotBeDoneIsNamed(t *testing.T) {
	t.Parallel()
	for change, want := range map[string]string{
		"/pay|/refund":                      "", // it cancels the order, which is not seen
		"Ticket:|X:":                        "could not be done: 20× step 1 of then was answered 403 this is not",
		"ticket: $.ticket|ticket: $.coupon": "capture ticket: nothing at",
		"state: PAID|state: SENT":           "20× step 2 of then has no end after 1s: 200",
	} {
		old, with, _ := strings.Cut(change, "|")
		f := parse(t, "", serve(t, &reserving{})+strings.Replace(reservingFile, old, with, 1))
		r := run(t, judge.Config{File: f, Clients: 30, Orders: 30, Phases: []string{judge.Together}})
		p := &r.Phases[0]
		if reasons := strings.Join(p.Reasons, "\n"); r.Outcome == verify.Pass || !strings.Contains(reasons, want) {
			t.Errorf("%s: %s, want unknown: %s\n%s", change, p.Line(), want, text(r))
		}
	}
	f := parse(t, "", serve(t, &reserving{})+strings.Replace(reservingFile, "/cancel", "/pay", 1))
	r := run(t, judge.Config{File: f, Phases: []string{judge.Cancelled}})
	if reasons := strings.Join(r.Phases[0].Reasons, "\n"); !strings.Contains(reasons, "no order could be cancelled: ") {
		t.Errorf("%s\n%s", r, text(r))
	}
}

// cutting ends the connection of the first payment of each order, which it has passed on, after a while.
func cutting(shop http.Handler, after time.Duration) http.Handler {
	var paid sync.Map
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, again := paid.LoadOrStore(r.URL.Path, true); !again && strings.HasSuffix(r.URL.Path, "/pay") {
			shop.ServeHTTP(httptest.NewRecorder(), r)
			time.Sleep(after)
			panic(http.ErrAbortHandler)
		}
		shop.ServeHTTP(w, r)
	})
}

// A payment whose answer did not come leaves the order's end unknown, and the reason says what to write. With that, the
// shop passes, also if the first payment takes longer than the time to settle: it is sent once more.
func TestAPaymentWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	f := parse(t, "", serve(t, cutting(&reserving{}, 0))+reservingFile)
	r := run(t, judge.Config{File: f, Phases: []string{judge.Together}})
	const want = "no answer came, and it may be done: write poll: true to send it again, and under its answers the one " +
		"to a step that is done already, such as {status: 409, contains: already paid, means: accepted}"
	reasons := strings.Join(r.Phases[0].Reasons, "\n")
	if r.Outcome != verify.Unknown || !strings.Contains(reasons, want) {
		t.Errorf("%s\n%s", r, text(r))
	}
	slow := cutting(&reserving{}, 1100*time.Millisecond)
	f = parse(t, "", serve(t, slow)+strings.Replace(reservingFile, `headers: {Ticket: "{{ticket}}"}}`,
		`headers: {Ticket: "{{ticket}}"}, poll: true, answers: [
      {status: 200, means: accepted}, {status: 409, contains: paid twice, means: accepted}]}`, 1))
	if r := run(t, judge.Config{File: f, Phases: []string{judge.Together}}); r.Outcome != verify.Pass {
		t.Errorf("with poll: true: %s\n%s", r, text(r))
	}
}

// A buyer's steps may be statements and commands, whose captures the order takes. A command may read the
// books without a query.
func TestBuyersByStatementsAndCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "users.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var tokens []string
	s := &counter{}
	f := parse(t, dir, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path == "/orders" {
			tokens = append(tokens, r.Header.Get("Token"))
		}
		s.ServeHTTP(w, r)
		left := fmt.Sprintf("product,pieces\n1,%d\n", s.left)
		if err := os.WriteFile(filepath.Join(dir, "left"), []byte(left), 0o600); err != nil {
			t.Error(err)
		}
	}))+strings.Replace(memory, "headers: {", `headers: {Token: "{{token}}-{{word}}", `, 1)+`
reset:
  - post: /reset
  - sql: [DROP TABLE IF EXISTS users, "CREATE TABLE users (id INTEGER, token TEXT)"]
    dsn: sqlite:users.db
buyer:
  - sql: ["INSERT INTO users VALUES ({{i}}, 't{{i}}')", "SELECT token FROM users WHERE id = {{i}}"]
    dsn: sqlite:users.db
    capture: {token: $.token}
  - {command: "echo word is w{{i}}", capture: {word: {regexp: "is (.+)"}}}
books: {stock: {command: cat left}}`)
	r := run(t, judge.Config{File: f, Phases: []string{judge.Alone}})
	if r.Outcome != verify.Pass || len(tokens) < 30 || tokens[0] != "t1-w1" || tokens[29] != "t30-w30" {
		t.Errorf("tokens %q\n%s", tokens, text(r))
	}
}

func TestATryShowsTheStepsAfterTheOrder(t *testing.T) {
	t.Parallel()
	f := parse(t, "", serve(t, &reserving{})+reservingFile)
	var out bytes.Buffer
	r, err := judge.Try(t.Context(), judge.Config{File: f}, &out)
	const want = "step    2 after the order\n        → 200 {\"state\":\"PAID\"}\n        read as: accepted, order 1"
	if err != nil || r.Outcome != verify.Pass || !strings.Contains(out.String(), want) ||
		strings.Contains(out.String(), "no answer in the file matches") {
		t.Errorf("%v\n%s\n%s", err, &out, text(r))
	}
}

// A try shows the books after the order and after each step, and so which call takes the pieces.
func TestATryShowsWhichCallTakesThePieces(t *testing.T) {
	t.Parallel()
	for mistake, want := range map[string]string{"": "20 → 19, by the order\n", "late": "20 → 19, by step 1\n"} {
		dir := t.TempDir()
		f := parse(t, dir, serve(t, &reserving{mistake: mistake, dir: dir})+reservingFile+reservingBooks)
		var out bytes.Buffer
		r, err := judge.Try(t.Context(), judge.Config{File: f}, &out)
		if err != nil || r.Outcome != verify.Pass || !strings.Contains(out.String(), want) ||
			strings.Count(out.String(), ", by") != 1 {
			t.Errorf("mistake %q: %v; want %s\n%s\n%s", mistake, err, want, &out, text(r))
		}
	}
}

// The mistakes of a file with steps after the order are named.
func TestMistakesInTheStepsAfterTheOrder(t *testing.T) {
	t.Parallel()
	for change, want := range map[string]string{
		"{{ticket}}|{{tickt}}":            "line 9, column 6: {{tickt}} has no value here",
		"poll: true|each: item":           "the request is sent once for each order",
		"means: pending|means: cancelled": "only an answer to cancel means cancelled",
		"$.state: PAID, means|means":      "the answer has no condition",
		"cancel: {post|cancel: {answers: [{status: 200, means: accepted}], post": "an answer to cancel means cancelled or",
		"cancel: {post|cancel: {restart: true, post":                             "a step of cancel is one of",
		"[{post: /reset}]|[{post: /reset, poll: true}]":                          "answers and poll belong to a step of then",
	} {
		old, with, _ := strings.Cut(change, "|")
		changed := strings.Replace("target: http://127.0.0.1"+reservingFile, old, with, 1)
		if _, err := shop.Parse([]byte(changed), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", change, err, want)
		}
	}
}
