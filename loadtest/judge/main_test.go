package judge_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	_ "github.com/lib/pq" // the driver "postgres"
)

// TestMain makes the test's binary run as a shop if a test asks for it: at the address in SHOP_ADDR, over the
// PostgreSQL in SHOP_DSN, or in memory, to crash once, and to leave the file in SHOP_CRASH when it does. It asks for
// SHOP_KILL to kill one that killable serves.
func TestMain(m *testing.M) {
	if address := os.Getenv("SHOP_KILL"); address != "" {
		resp, err := http.Get(address)
		if err != nil || resp.StatusCode != http.StatusOK {
			fmt.Fprintln(os.Stderr, resp, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if addr, left := os.Getenv("SHOP_ADDR"), os.Getenv("SHOP_CRASH"); addr != "" && left != "" {
		fmt.Fprintln(os.Stderr, http.ListenAndServe(addr, crashing(left)))
		os.Exit(1)
	} else if addr != "" {
		db, err := sql.Open("postgres", os.Getenv("SHOP_DSN"))
		if err == nil {
			db.SetMaxIdleConns(20) // a connection is a process there
			err = http.ListenAndServe(addr, pages(db))
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// killable serves a shop that goes on when it is killed: a kill closes only the one connection on which nothing was
// sent, which the judge takes for the end of the service. It returns the beginning of the shop's file, and the one of
// service: there.
func killable(t *testing.T, h http.Handler) (head, service string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	changed, silent := sync.NewCond(&mu), map[net.Conn]bool{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/kill" {
			h.ServeHTTP(w, r)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for len(silent) != 1 { // an order is on its way
			changed.Wait()
		}
		for conn := range silent {
			_ = conn.Close() // the judge sees it
		}
	}))
	server.Config.ConnState = func(conn net.Conn, state http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		if delete(silent, conn); state == http.StateNew {
			silent[conn] = true
		}
		changed.Broadcast()
	}
	server.Start()
	t.Cleanup(server.Close)
	kill := fmt.Sprintf("SHOP_KILL=%s/kill exec '%s'", server.URL, self)
	return "target: " + server.URL, fmt.Sprintf("service: {kill: %q, start: 'true'", kill)
}

// crashAt is the call at which a crashing shop ends.
const crashAt = 45

// crashing is a right shop, whose process ends in the middle, but once.
func crashing(left string) http.Handler {
	var calls atomic.Int64
	shop := &counter{left: 20, ids: map[string]int{}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/orders" && calls.Add(1) == crashAt {
			if _, err := os.Stat(left); err != nil {
				_ = os.WriteFile(left, nil, 0o600)
				fmt.Fprintln(os.Stderr, "boom")
				os.Exit(7)
			}
		}
		shop.ServeHTTP(w, r)
	})
}

// pages is a shop of HTML pages: forms with a token, cookies, a cart and redirects. Its ids are UUIDs, its pieces
// decimals, and the state of a good order is NULL.
func pages(db *sql.DB) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /login", func(w http.ResponseWriter, _ *http.Request) {
		session := uuid.NewString()
		http.SetCookie(w, &http.Cookie{Name: "session", Value: session, Path: "/"})
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<form method="post"><input type="hidden" name="csrf" value="%s"></form>`, token(session))
	})
	mux.HandleFunc("POST /cart", func(w http.ResponseWriter, r *http.Request) {
		session, ok := own(w, r)
		if !ok {
			return
		}
		_, err := db.ExecContext(r.Context(), "INSERT INTO carts VALUES ($1, $2, $3)",
			session, r.FormValue("product"), r.FormValue("pieces"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		http.Redirect(w, r, "/cart", http.StatusSeeOther)
	})
	mux.HandleFunc("POST /checkout", func(w http.ResponseWriter, r *http.Request) {
		session, ok := own(w, r)
		if !ok {
			return
		}
		id, err := checkout(r.Context(), db, session, r.FormValue("key"))
		switch {
		case errors.Is(err, errShort):
			fmt.Fprint(w, "<p>Sorry, this is <b>Sold Out</b>.</p>")
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		default:
			http.Redirect(w, r, "/orders/"+id, http.StatusSeeOther)
		}
	})
	return mux
}

func token(session string) string { return html.EscapeString("<" + session[:8] + "&>") }

// own returns the session of a form with the right token.
func own(w http.ResponseWriter, r *http.Request) (session string, ok bool) {
	cookie, err := r.Cookie("session")
	if err != nil || r.FormValue("csrf") != html.UnescapeString(token(cookie.Value)) {
		http.Error(w, "log in first", http.StatusForbidden)
		return "", false
	}
	return cookie.Value, true
}

var errShort = errors.New("sold out")

// checkout orders what is in the cart, all or nothing, once for each key.
func checkout(ctx context.Context, db *sql.DB, session, key string) (id string, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return "", err
	}
	defer func() { _ = tx.Rollback() }()
	err = tx.QueryRowContext(ctx, `INSERT INTO orders (id, key) VALUES (gen_random_uuid(), $1)
		ON CONFLICT (key) DO NOTHING RETURNING id`, key).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) { // a repeat
		err = db.QueryRowContext(ctx, "SELECT id FROM orders WHERE key = $1", key).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return "", errShort
		}
		return id, err
	}
	if err != nil {
		return "", err
	}
	_, err = tx.ExecContext(ctx, "SELECT 1 FROM inventory ORDER BY product FOR UPDATE")
	if err != nil {
		return "", err
	}
	_, err = tx.ExecContext(ctx, `UPDATE inventory i SET available = available - c.pieces FROM carts c
		WHERE c.session = $1 AND c.product = i.product`, session)
	if err != nil {
		return "", err
	}
	var short bool
	if err := tx.QueryRowContext(ctx, "SELECT bool_or(available < 0) FROM inventory").Scan(&short); err != nil {
		return "", err
	}
	if short {
		return "", errShort
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO items SELECT $1, product, pieces FROM carts WHERE session = $2", id, session)
	if err != nil {
		return "", err
	}
	return id, tx.Commit()
}
