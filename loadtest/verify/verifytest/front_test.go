package verifytest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
)

// front breaks what passes between the clients and right services: it answers a request, or passes it on.
type front func(w http.ResponseWriter, r *http.Request, next http.Handler)

// behind puts fronts in front of all services of a target, until the test ends. They share what newFront remembers.
func behind(t *testing.T, newFront func(fire.Target) front, target fire.Target) fire.Target {
	t.Helper()
	breaks := newFront(target)
	put := func(urls []string) (fronts []string) {
		for _, raw := range urls {
			to, err := url.Parse(raw)
			if err != nil {
				t.Fatal(err)
			}
			next := httputil.NewSingleHostReverseProxy(to)
			next.ErrorLog = log.New(io.Discard, "", 0) // services are killed behind it
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { breaks(w, r, next) }))
			t.Cleanup(s.Close)
			fronts = append(fronts, s.URL)
		}
		return fronts
	}
	target.OrderURLs, target.StockURLs = put(target.OrderURLs), put(target.StockURLs)
	return target
}

func places(r *http.Request) bool   { return r.Method == http.MethodPost && r.URL.Path == "/v1/orders" }
func restocks(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/restock") }

// gets returns whether a request reads a path that begins so.
func gets(path string) func(*http.Request) bool {
	return func(r *http.Request) bool { return r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, path) }
}

// stateless is a front that remembers nothing.
func stateless(f front) func(fire.Target) front { return func(fire.Target) front { return f } }

// pass is a front that breaks nothing.
func pass(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(w, r) }

// where breaks the requests that match, and passes the others on.
func where(match func(*http.Request) bool, breaks front) front {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if match(r) {
			breaks(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	}
}

// passing passes the requests on after a change.
func passing(change func(*http.Request)) front {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		change(r)
		next.ServeHTTP(w, r)
	}
}

// answering answers with a problem, as a service does.
func answering(status int, code string) front {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/problem+json")
		if status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "1")
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"status":%d,"code":%q}`, status, code) // the client may be gone
	}
}

// overloaded answers as a service with too much to do.
var overloaded = answering(http.StatusServiceUnavailable, "overloaded")

// refusingRepeats answers each request with a key that it has seen with 503.
func refusingRepeats(fire.Target) front {
	var seen sync.Map
	return where(func(r *http.Request) bool {
		key := r.Header.Get("Idempotency-Key")
		_, repeat := seen.LoadOrStore(key, true)
		return repeat && key != ""
	}, overloaded)
}

// every breaks the first some of each of requests that match, and passes the others on.
func every(some, of int64, match func(*http.Request) bool, breaks front) func(fire.Target) front {
	return func(fire.Target) front {
		var n atomic.Int64
		return where(func(r *http.Request) bool { return match(r) && n.Add(1)%of < some }, breaks)
	}
}

// losing carries a request out and throws the answer away.
func losing(_ http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// sendingAgain throws the answer to a request away and sends it again, as a proxy does whose connection broke.
func sendingAgain(w http.ResponseWriter, r *http.Request, next http.Handler) {
	var first bytes.Buffer
	body := io.TeeReader(r.Body, &first)
	r.Body = io.NopCloser(body)
	next.ServeHTTP(httptest.NewRecorder(), r)
	r.Body = io.NopCloser(io.MultiReader(&first, body))
	next.ServeHTTP(w, r)
}

// changing changes the JSON objects in the answers to GET of a path that begins so.
func changing(path string, change func(body map[string]any)) func(fire.Target) front {
	return stateless(where(gets(path), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		body := decode(answer.Body)
		change(body)
		maps.Copy(w.Header(), answer.Header())
		w.Header().Del("Content-Length")
		w.WriteHeader(answer.Code)
		_ = json.NewEncoder(w).Encode(body) // the client may be gone
	}))
}

// without deletes the objects of a list with that value in a field.
func without(list, field, value string) func(map[string]any) {
	return func(body map[string]any) {
		all, _ := body[list].([]any)
		kept := []any{}
		for _, one := range all {
			if object, _ := one.(map[string]any); object[field] != value {
				kept = append(kept, one)
			}
		}
		body[list] = kept
	}
}

func withoutFirstOrder(body map[string]any) {
	if orders, _ := body["orders"].([]any); len(orders) > 0 {
		body["orders"] = orders[1:]
	}
}

func neverCancelled(body map[string]any) {
	if body["status"] == "CANCELLED" {
		body["status"], body["reason"] = "CONFIRMED", ""
	}
}

// remembering answers each GET of a product as the first one.
func remembering(fire.Target) front {
	var firsts sync.Map
	return where(gets("/v1/stock/"), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		first, _ := firsts.LoadOrStore(r.URL.Path, answer.Body.Bytes())
		maps.Copy(w.Header(), answer.Header())
		w.Header().Del("Content-Length")
		_, _ = w.Write(first.([]byte)) // the client may be gone
	})
}

// keyed changes the key of each order.
func keyed(change func(key string) string) func(fire.Target) front {
	return stateless(passing(func(r *http.Request) {
		if key := r.Header.Get("Idempotency-Key"); key != "" {
			r.Header.Set("Idempotency-Key", change(key))
		}
	}))
}

// restockingAgain gives each repeat of a restock another flag, so that it adds its pieces again.
func restockingAgain(fire.Target) front {
	var used sync.Map
	var n atomic.Int64
	return where(restocks, passing(func(r *http.Request) {
		body := decoded(r)
		if _, again := used.LoadOrStore(fmt.Sprint(body["flag"]), true); again {
			body["flag"] = fmt.Sprint(body["flag"], "-", n.Add(1))
		}
		replace(r, body)
	}))
}

// restockingAtOnce gives a restock another flag if one under the same flag is on its way.
func restockingAtOnce(fire.Target) front {
	var under sync.Map
	return where(restocks, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		body := decoded(r)
		flag := fmt.Sprint(body["flag"])
		if _, another := under.LoadOrStore(flag, true); another {
			body["flag"] = flag + "-again"
			replace(r, body)
		} else {
			defer under.Delete(flag)
			time.Sleep(50 * time.Millisecond) // as a slow network
		}
		next.ServeHTTP(w, r)
	})
}

// takingEqualOrdersForOne answers an order without a key as an earlier one with the same body.
func takingEqualOrdersForOne(fire.Target) front {
	var mu sync.Mutex
	firsts := map[string]*httptest.ResponseRecorder{}
	return where(func(r *http.Request) bool {
		return places(r) && r.Header.Get("Idempotency-Key") == ""
	}, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		mu.Lock()
		defer mu.Unlock()
		text := fmt.Sprint(decoded(r))
		if firsts[text] == nil {
			firsts[text] = httptest.NewRecorder()
			next.ServeHTTP(firsts[text], r)
		}
		maps.Copy(w.Header(), firsts[text].Header())
		w.WriteHeader(firsts[text].Code)
		_, _ = w.Write(firsts[text].Body.Bytes()) // the client may be gone
	})
}

// restockingAnyNumber adds one piece if a restock has no number of pieces.
var restockingAnyNumber = stateless(where(restocks, passing(func(r *http.Request) {
	body := decoded(r)
	if n, err := strconv.Atoi(fmt.Sprint(body["num"])); err != nil || n < 1 {
		body["num"] = 1
		replace(r, body)
	}
})))

// decode returns a JSON object.
func decode(from io.Reader) (body map[string]any) {
	decoder := json.NewDecoder(from)
	decoder.UseNumber()
	if err := decoder.Decode(&body); err != nil {
		panic(http.ErrAbortHandler)
	}
	return body
}

// decoded returns the JSON body of a request, which can be read again.
func decoded(r *http.Request) map[string]any {
	var text bytes.Buffer
	body := decode(io.TeeReader(r.Body, &text))
	r.Body = io.NopCloser(io.MultiReader(&text, r.Body))
	return body
}

// replace gives a request another body.
func replace(r *http.Request, body map[string]any) {
	text, _ := json.Marshal(body) // it was decoded from JSON
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
}

// lettingIn adds the token to each call that matches.
func lettingIn(match func(*http.Request) bool) func(fire.Target) front {
	return func(t fire.Target) front {
		return where(match, passing(func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+t.StockToken) }))
	}
}

// letIn adds the token to each call that has none.
var letIn = lettingIn(func(r *http.Request) bool { return r.Header.Get("Authorization") == "" })

// limitedKeys answers one key in ten with 429 each time.
var limitedKeys = stateless(where(func(r *http.Request) bool {
	return places(r) && strings.HasSuffix(strings.Trim(r.Header.Get("Idempotency-Key"), `"`), "5")
}, answering(http.StatusTooManyRequests, "rate_limited")))

// beginningBefore takes the cursor of a page for its first order.
var beginningBefore = stateless(passing(func(r *http.Request) {
	query := r.URL.Query()
	if after, err := strconv.ParseInt(query.Get("after"), 10, 64); err == nil && r.URL.Path == "/v1/orders" {
		query.Set("after", strconv.FormatInt(after-1, 10))
		r.URL.RawQuery = query.Encode()
	}
}))

// inAnotherZone shows the dates of a page as two hours later.
func inAnotherZone(body map[string]any) {
	orders, _ := body["orders"].([]any)
	for _, one := range orders {
		order, _ := one.(map[string]any)
		text, _ := order["created_at"].(string)
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		order["created_at"] = at.Add(2 * time.Hour)
	}
}

// withOldLevels shows the levels of a list as they were before a restock.
func withOldLevels(body map[string]any) {
	all, _ := body["goods"].([]any)
	for _, one := range all {
		product, _ := one.(map[string]any)
		product["num"] = 0
	}
}

// takingFor takes each call under a used key or flag for a repeat of the first, if it has the same in the way that read
// reads its body.
func takingFor(match func(*http.Request) bool, read func(body map[string]any) (text string)) func(fire.Target) front {
	return func(fire.Target) front {
		var firsts sync.Map
		return where(match, passing(func(r *http.Request) {
			body := decoded(r)
			first, known := firsts.LoadOrStore(fmt.Sprint(r.Header.Get("Idempotency-Key"), body["flag"]), body)
			if first := first.(map[string]any); known && read(first) == read(body) {
				replace(r, first)
			}
		}))
	}
}

// pieces returns the numbers of pieces in an order, without the products.
func pieces(body map[string]any) (text string) {
	items, _ := body["items"].([]any)
	for _, one := range items {
		item, _ := one.(map[string]any)
		text += fmt.Sprint(item["num"], ",")
	}
	return text
}

// comparingText refuses each call under a used key whose text is another.
func comparingText(fire.Target) front {
	var firsts sync.Map
	return where(func(r *http.Request) bool {
		key := strings.Trim(r.Header.Get("Idempotency-Key"), `"`)
		if key == "" {
			return false
		}
		text := fmt.Sprint(decoded(r))
		first, _ := firsts.LoadOrStore(key, text)
		return first != text
	}, answering(http.StatusUnprocessableEntity, "idempotency_key_reused"))
}

// fronts stand between the clients and right services, and each harms somebody.
var fronts = []struct {
	name  string
	front func(fire.Target) front
	finds string // the invariant that it breaks; "" for none
	drawn bool   // it harms odd calls alone, so that the load must be long enough to draw each kind
}{
	{"nothing broken, behind a front", stateless(pass), "", false},
	{"each cancellation answered 503", stateless(where(func(r *http.Request) bool {
		return strings.HasSuffix(r.URL.Path, "/cancel")
	}, overloaded)), verify.Served, false},
	{"each repeat answered 503", refusingRepeats, verify.Served, false},
	{"six of ten orders overloaded", every(6, 10, places, overloaded), verify.Served, false},
	{"half of the answers thrown away", every(1, 2, places, losing), verify.Served, false},

	{"one key in ten is limited for ever", limitedKeys, verify.Served, false},

	{"pages skip the first order", changing("/v1/orders", withoutFirstOrder), verify.AnswersTrue, false},
	{
		"an order reads CONFIRMED after its cancellation", changing("/v1/orders/", neverCancelled),
		verify.AnswersOverTime, false,
	},
	{
		"flows without restore rows", changing("/v1/flows", without("flows", "kind", "restore")),
		verify.AnswersOverTime, false,
	},
	{"levels as they were first read", remembering, verify.AnswersTrue, false},

	{"a page begins with the last order of the page before", beginningBefore, verify.AnswersTrue, false},
	{"dates on pages are of another zone", changing("/v1/orders", inAnotherZone), verify.AnswersTrue, false},
	{"the list of products shows old levels", changing("/v1/stock", withOldLevels), verify.AnswersTrue, false},

	{"keys compared without their case", keyed(strings.ToLower), verify.AnswerWellFormed, true},
	{
		"keys cut to 64 characters", keyed(func(key string) string { return key[:min(64, len(key))] }),
		verify.Unexplained, true,
	},
	{"a restock repeated under its flag adds again", restockingAgain, verify.Unexplained, false},
	{"a restock sent twice at once adds twice", restockingAtOnce, verify.Unexplained, false},
	{"equal orders without a key taken for one", takingEqualOrdersForOne, verify.AnswersTrue, false},
	{"a restock of any number", restockingAnyNumber, verify.AnswerWellFormed, true},
	{"an order read with the key of its client", changing("/v1/orders/", func(body map[string]any) {
		body["idempotency_key"] = "k"
	}), verify.AnswerWellFormed, false},
	{"calls without a token let in", letIn, verify.AnswerWellFormed, true},
	{"restocks without a token let in", lettingIn(restocks), verify.AnswerWellFormed, true},
	{
		"any token let in", lettingIn(func(r *http.Request) bool { return r.Header.Get("Authorization") != "" }),
		verify.AnswerWellFormed, true,
	},
	{"long keys compared by 128 characters", keyed(func(key string) string {
		if len(key) > 255 { // that check comes first
			return key
		}
		return key[:min(128, len(key))]
	}), verify.AnswersTrue, true},
	{"other products under a used key taken for a repeat", takingFor(places, pieces), verify.AnswerWellFormed, true},
	{"a repeat with its items in another order refused", comparingText, verify.AnswerWellFormed, false},
	{"a used restock flag accepted at another price", takingFor(restocks, func(body map[string]any) string {
		return fmt.Sprint(body["num"])
	}), verify.AnswerWellFormed, true},
}

// The verdict notices each front, by the invariant that the row names, and does not accuse the services behind a front
// that breaks nothing. Three loads may be needed: some fronts harm few calls.
// With all fronts it takes minutes: each has its own services.
func TestFrontsAreFound(t *testing.T) {
	for _, f := range part(fronts, 2) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			on := up(t, "grouped", nil)
			e := trial.Experiment{Name: f.name, Load: traffic, Settle: 2 * time.Second}
			if f.drawn {
				e.Load.Orders, e.Load.Concurrency, e.Load.Mix.Stock = 2000, 40, 1200
			}
			e.Load.Timeout, e.Load.Patience = 8*time.Second, 3*time.Second
			e.Load.Target = behind(t, f.front, on.Target())
			var broken []string
			for seed := range uint64(3) {
				r := run(t, e, on, seed+1)
				if f.finds == "" {
					if r.Outcome != verify.Pass {
						t.Errorf("%s, want a pass", r.Outcome)
					}
					return
				}
				if slices.Contains(r.Broken, f.finds) {
					return
				}
				broken = append(broken, r.Broken...)
			}
			t.Errorf("broken: %v, want %s", broken, f.finds)
		})
	}
}
