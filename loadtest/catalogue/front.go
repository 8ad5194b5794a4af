package catalogue

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"orderstock/loadtest/fire"
)

// front breaks what passes between the clients and right services: it answers a request, or passes it on.
type front func(w http.ResponseWriter, r *http.Request, next http.Handler)

// behind puts fronts in front of all services of a target. They share what newFront remembers.
func behind(newFront func(fire.Target) front) func(fire.Target) (fire.Target, func(), error) {
	return func(t fire.Target) (_ fire.Target, closeAll func(), err error) {
		var servers []*httptest.Server
		closeAll = func() {
			for _, s := range servers {
				s.Close()
			}
		}
		breaks := newFront(t)
		put := func(urls []string) (fronts []string) {
			for _, raw := range urls {
				to, failed := url.Parse(raw)
				if failed != nil {
					err = fmt.Errorf("front: %w", failed)
					continue
				}
				next := httputil.NewSingleHostReverseProxy(to)
				s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { breaks(w, r, next) }))
				servers, fronts = append(servers, s), append(fronts, s.URL)
			}
			return fronts
		}
		t.OrderURLs, t.StockURLs = put(t.OrderURLs), put(t.StockURLs)
		return t, closeAll, err
	}
}

// overloaded answers as a service with too much to do.
func overloaded(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = io.WriteString(w, `{"status":503,"code":"overloaded"}`) // the client may be gone
}

// refuse is a front that lets nothing pass.
func refuse(w http.ResponseWriter, _ *http.Request, _ http.Handler) { overloaded(w) }

func places(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Path == "/v1/orders" }

// stateless is a front that remembers nothing.
func stateless(f front) func(fire.Target) front { return func(fire.Target) front { return f } }

// refusing answers the requests that match with 503.
func refusing(match func(*http.Request) bool) func(fire.Target) front {
	return stateless(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if match(r) {
			overloaded(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// refusingRepeats answers each request with a key that it has seen with 503.
func refusingRepeats(fire.Target) front {
	var mu sync.Mutex
	seen := map[string]bool{}
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		key := r.Header.Get("Idempotency-Key")
		mu.Lock()
		repeat := key != "" && seen[key]
		seen[key] = true
		mu.Unlock()
		if repeat {
			overloaded(w)
			return
		}
		next.ServeHTTP(w, r)
	}
}

// every calls breaks for the first some of each of requests that match, and passes the others on.
func every(some, of int, match func(*http.Request) bool, breaks front) func(fire.Target) front {
	return func(fire.Target) front {
		var mu sync.Mutex
		n := 0
		return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			mu.Lock()
			if match(r) {
				n++
			}
			broken := match(r) && n%of < some
			mu.Unlock()
			if broken {
				breaks(w, r, next)
				return
			}
			next.ServeHTTP(w, r)
		}
	}
}

// losing carries a request out and throws the answer away.
func losing(_ http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// changing changes the JSON objects in the answers to GET of a path that begins so.
func changing(path string, change func(body map[string]any)) func(fire.Target) front {
	return stateless(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method != http.MethodGet || !strings.HasPrefix(r.URL.Path, path) {
			next.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		var body map[string]any
		decoder := json.NewDecoder(answer.Body)
		decoder.UseNumber()
		if err := decoder.Decode(&body); err != nil {
			panic(http.ErrAbortHandler)
		}
		change(body)
		w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
		w.WriteHeader(answer.Code)
		_ = json.NewEncoder(w).Encode(body) // the client may be gone
	})
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
	var mu sync.Mutex
	first := map[string][]byte{}
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method != http.MethodGet || !strings.HasPrefix(r.URL.Path, "/v1/stock/") {
			next.ServeHTTP(w, r)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if first[r.URL.Path] == nil {
			answer := httptest.NewRecorder()
			next.ServeHTTP(answer, r)
			first[r.URL.Path] = answer.Body.Bytes()
		}
		_, _ = w.Write(first[r.URL.Path]) // the client may be gone
	}
}

// keyed changes the key of each order.
func keyed(change func(key string) string) func(fire.Target) front {
	return stateless(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if key := r.Header.Get("Idempotency-Key"); key != "" {
			r.Header.Set("Idempotency-Key", change(key))
		}
		next.ServeHTTP(w, r)
	})
}

// restockingAgain gives each restock another flag, so that a repeat adds its pieces again.
func restockingAgain(fire.Target) front {
	var mu sync.Mutex
	n := map[string]int{}
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if restocks(r) {
			body := decoded(r)
			mu.Lock()
			flag := fmt.Sprint(body["flag"])
			if n[flag]++; n[flag] > 1 {
				body["flag"] = fmt.Sprint(flag, "-", n[flag])
			}
			mu.Unlock()
			replace(r, body)
		}
		next.ServeHTTP(w, r)
	}
}

// decoded returns the JSON body of a request, which can be read again.
func decoded(r *http.Request) map[string]any {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
	var body map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&body); err != nil {
		panic(http.ErrAbortHandler)
	}
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
		return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if match(r) {
				r.Header.Set("Authorization", "Bearer "+t.StockToken)
			}
			next.ServeHTTP(w, r)
		}
	}
}

// letIn adds the token to each call that has none.
var letIn = lettingIn(func(r *http.Request) bool { return r.Header.Get("Authorization") == "" })

func restocks(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/restock") }

// limitedKeys answers one key in ten with 429 each time.
var limitedKeys = stateless(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if key := strings.Trim(r.Header.Get("Idempotency-Key"), `"`); places(r) && strings.HasSuffix(key, "5") {
		w.Header().Set("Content-Type", "application/problem+json")
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"status":429,"code":"rate_limited"}`) // the client may be gone
		return
	}
	next.ServeHTTP(w, r)
})

// beginningBefore takes the cursor of a page for its first order.
var beginningBefore = stateless(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
	query := r.URL.Query()
	if after, err := strconv.ParseInt(query.Get("after"), 10, 64); err == nil && r.URL.Path == "/v1/orders" {
		query.Set("after", strconv.FormatInt(after-1, 10))
		r.URL.RawQuery = query.Encode()
	}
	next.ServeHTTP(w, r)
})

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
		var mu sync.Mutex
		firsts := map[string]map[string]any{}
		return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if match(r) {
				body := decoded(r)
				key := fmt.Sprint(r.Header.Get("Idempotency-Key"), body["flag"])
				mu.Lock()
				if first := firsts[key]; first == nil {
					firsts[key] = body
				} else if read(first) == read(body) {
					replace(r, first)
				}
				mu.Unlock()
			}
			next.ServeHTTP(w, r)
		}
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
	var mu sync.Mutex
	firsts := map[string]string{}
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if key := strings.Trim(r.Header.Get("Idempotency-Key"), `"`); key != "" {
			text := fmt.Sprint(decoded(r))
			mu.Lock()
			first, known := firsts[key]
			if !known {
				firsts[key] = text
			}
			mu.Unlock()
			if known && first != text {
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(http.StatusUnprocessableEntity)
				_, _ = io.WriteString(w, `{"status":422,"code":"idempotency_key_reused"}`) // the client may be gone
				return
			}
		}
		next.ServeHTTP(w, r)
	}
}
