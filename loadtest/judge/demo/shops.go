// Package demo has thirteen small shops on MySQL: two that are right, and eleven that are wrong in ways found in public
// ones. They show the judgement of package judge, and are its mutants: each must be judged as Shops says.
package demo

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"orderstock/loadtest/judge"
)

// Shop is a small shop: one file of this package.
type Shop struct {
	Name string
	// Says is what the shop does.
	Says string
	// Phase is the first phase that must find it wrong, and Violates the invariant; "" if it is right.
	Phase, Violates string
	// order returns what handles an order. The key is the request's Idempotency-Key. The context ends with the shop.
	order func(ctx context.Context, db *sql.DB) func(key string, pieces int) answer
	// pay and cancel, if not nil, handle the calls after an order.
	pay, cancel func(ctx context.Context, db *sql.DB, id int64) answer
	// login, if not nil, checks who orders.
	login *tokens
	// file has texts of the judge's file, each with the one for its place.
	file []string
}

// Shops returns the shops, the right ones first.
func Shops() []Shop {
	return []Shop{
		{
			Name: "right", Says: "one transaction decides; the key keeps its outcome", order: right, cancel: cancelOnce,
			file: withCancel,
		},
		{
			Name: "pays-later", Says: "an order holds its pieces, and is paid after it; each state follows one other",
			order: paysLater, pay: payOnce, cancel: cancelOnce, file: slices.Concat(withCancel, withPayment),
		},
		{
			Name: "gives-back", Says: "a refusal gives back pieces that it never took",
			Phase: judge.Alone, Violates: judge.NotOversold, order: givesBack,
		},
		{
			Name: "one-transaction", Says: "all requests share one transaction object",
			Phase: judge.Together, Violates: judge.AcceptedIsKept, order: oneTransaction,
		},
		{
			Name: "early-check", Says: "the check comes early; the counter is read, changed and written late",
			Phase: judge.Together, Violates: judge.NotOversold, order: earlyCheck,
		},
		{
			Name: "delete-count", Says: "a ticket is chosen, then deleted; nobody looks whether it was still there",
			Phase: judge.Together, Violates: judge.NotOversold, order: deleteCount, file: withTickets,
		},
		{
			Name: "balance-first", Says: "the balance is looked at before the claim is written, and then taken from",
			Phase: judge.Together, Violates: judge.NotOversold, order: balanceFirst,
		},
		{
			Name: "stock-first", Says: "the stock is looked at before the key",
			Phase: judge.Repeated, Violates: judge.OneAnswerPerKey, order: stockFirst,
		},
		{
			Name: "no-key", Says: "the key is ignored: each repeat deducts",
			Phase: judge.Repeated, Violates: judge.OneOrderPerKey, order: noKey,
		},
		{
			Name: "two-statements", Says: "the order is committed, then its items",
			Phase: judge.Killed, Violates: judge.AcceptedIsKept, order: twoStatements,
		},
		{
			Name: "late-write", Says: "the order is answered from memory, and written after the answer",
			Phase: judge.Killed, Violates: judge.AcceptedIsKept, order: lateWrite,
			file: []string{"settle: 1s", "settle: 5s"}, // for the writes after the last answers
		},
		{
			Name: "two-updates", Says: "JWT, no keys: the stock and the order are changed in no transaction",
			Phase: judge.Killed, Violates: judge.StockMatchesOrders, order: twoUpdates, login: &tokens{}, file: withLogin,
		},
		{
			Name: "cancels-twice", Says: "each cancel gives the pieces back, also the second one",
			Phase: judge.Cancelled, Violates: judge.StockMatchesOrders, order: right, cancel: cancelEachTime, file: withCancel,
		},
	}
}

// tables are the same for all shops. A shop without keys leaves order_key empty. The tickets are the stock of one shop.
const tables = `
CREATE TABLE inventory (product INT PRIMARY KEY, available INT NOT NULL);
CREATE TABLE tickets (id INT PRIMARY KEY);
CREATE TABLE orders (id BIGINT PRIMARY KEY AUTO_INCREMENT, order_key VARCHAR(64) UNIQUE, state VARCHAR(16) NOT NULL);
CREATE TABLE items (order_id BIGINT NOT NULL, pieces INT NOT NULL);
CREATE TABLE deductions (order_id BIGINT NOT NULL, pieces INT NOT NULL);
INSERT INTO inventory VALUES (1, 0)`

// file is the file for the judge. Its upper-case words are replaced.
const file = `target: http://ADDRESS
stock: {"1": 30}
reset:
  - sql:
      - SET SESSION innodb_lock_wait_timeout = 2
      - DELETE FROM orders
      - DELETE FROM items
      - DELETE FROM deductions
      - DELETE FROM tickets
      - INSERT INTO tickets WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30) SELECT i FROM n
      - UPDATE inventory SET available = 30
order:
  post: /orders
  headers: {Idempotency-Key: "{{key}}"}
  json: {product: 1, pieces: "{{pieces}}"}
  repeats: key
answers:
  - {status: [200, 201], $.state: CONFIRMED, means: accepted, order: $.id}
  - {status: 409, contains: sold out, means: rejected}
books:
  dsn: "DSN"
  stock: SELECT product, available AS pieces FROM inventory
  orders: SELECT o.id, o.order_key AS ` + "`key`" + `, 1 AS product, i.pieces, o.state FROM orders o
    LEFT JOIN items i ON i.order_id = o.id
  deductions: SELECT order_id, 1 AS product, pieces FROM deductions
  sold: [CONFIRMED]
  void: [FAILED, CANCELLED]
service: {start: "START"}
settle: 1s
`

// The changes of the file for some shops.
var (
	withCancel  = []string{"books:\n", "cancel: {post: \"/orders/{{order}}/cancel\"}\nbooks:\n"}
	withPayment = []string{"answers:\n", `answers:
  - {status: [200, 201], $.state: PLACED, means: pending, order: $.id}
`, "cancel:", `then:
  - {post: "/orders/{{order}}/pay", answers: [{status: 200, $.state: CONFIRMED, means: accepted}]}
cancel:`}
	withTickets = []string{
		"SELECT product, available AS pieces FROM inventory", "SELECT 1 AS product, COUNT(*) AS pieces FROM tickets",
	}
	withLogin = []string{
		"order:\n", "buyer: [{post: /login, json: {name: \"{{key}}\"}, capture: {token: $.token}}]\norder:\n",
		"Idempotency-Key: \"{{key}}\"", "Authorization: \"Bearer {{token}}\"", "repeats: key", "repeats: none",
	}
)

// text returns the file for a shop at an address, which a command starts.
func (s Shop) text(address, dsn, start string) string {
	text := strings.NewReplacer("ADDRESS", address, "DSN", dsn, "START", start).Replace(file)
	for change := range slices.Chunk(s.file, 2) {
		text = strings.Replace(text, change[0], change[1], 1)
	}
	return text
}

// answer is a shop's answer to an order.
type answer struct {
	status int
	body   map[string]any
}

func inState(id int64, state string) answer {
	return answer{http.StatusCreated, map[string]any{"id": id, "state": state}}
}

func confirmed(id int64) answer { return inState(id, "CONFIRMED") }

func soldOut() answer { return answer{http.StatusConflict, map[string]any{"error": "sold out"}} }

func failed(err error) answer {
	return answer{http.StatusInternalServerError, map[string]any{"error": err.Error()}}
}

// handler serves POST /orders, and the calls after an order.
func (s Shop) handler(ctx context.Context, db *sql.DB) http.Handler {
	order := s.order(ctx, db)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Pieces int `json:"pieces"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body.Pieces < 1 {
			http.Error(w, "want pieces", http.StatusBadRequest)
			return
		}
		if s.login != nil && !s.login.valid(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")) {
			http.Error(w, "log in first", http.StatusUnauthorized)
			return
		}
		write(w, order(r.Header.Get("Idempotency-Key"), body.Pieces))
	})
	for path, do := range map[string]func(context.Context, *sql.DB, int64) answer{"pay": s.pay, "cancel": s.cancel} {
		if do == nil {
			continue
		}
		mux.HandleFunc("POST /orders/{id}/"+path, func(w http.ResponseWriter, r *http.Request) {
			id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
			if err != nil {
				http.NotFound(w, r)
				return
			}
			write(w, do(ctx, db, id))
		})
	}
	if s.login != nil {
		mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) {
			var body struct {
				Name string `json:"name"`
			}
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body.Name == "" {
				http.Error(w, "want a name", http.StatusBadRequest)
				return
			}
			write(w, answer{http.StatusOK, map[string]any{"token": s.login.of(body.Name)}})
		})
	}
	return mux
}

func write(w http.ResponseWriter, a answer) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.status)
	_ = json.NewEncoder(w).Encode(a.body) // a client that has gone needs no answer
}

// setUp creates the tables.
func setUp(ctx context.Context, db *sql.DB) error {
	for statement := range strings.SplitSeq(tables, ";") {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("create the tables: %w", err)
		}
	}
	return nil
}

// within runs work in a transaction, and again if MySQL chose it as the victim of a deadlock.
func within(ctx context.Context, db *sql.DB, work func(tx *sql.Tx) (answer, error)) answer {
	for {
		a, err := try(ctx, db, work)
		if err == nil {
			return a
		}
		if !strings.Contains(err.Error(), "Deadlock") {
			return failed(err)
		}
	}
}

func try(ctx context.Context, db *sql.DB, work func(tx *sql.Tx) (answer, error)) (answer, error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = tx.Rollback() }() // without effect after the commit
	a, err := work(tx)
	if err != nil {
		return answer{}, err
	}
	return a, tx.Commit()
}

// database is a connection, or a transaction.
type database interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// changed executes a statement, and reports whether it has changed a row.
func changed(ctx context.Context, db database, query string, args ...any) (bool, error) {
	result, err := db.ExecContext(ctx, query, args...)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// take takes pieces from the stock, if there are as many.
func take(ctx context.Context, db database, pieces int) (taken bool, err error) {
	return changed(ctx, db,
		"UPDATE inventory SET available = available - ? WHERE product = 1 AND available >= ?", pieces, pieces)
}

// giveBack gives pieces back to the stock.
func giveBack(ctx context.Context, db database, pieces int) error {
	_, err := db.ExecContext(ctx, "UPDATE inventory SET available = available + ? WHERE product = 1", pieces)
	return err
}

// insert adds an order with its item, and its deduction unless it has failed. An empty key is none.
func insert(ctx context.Context, db database, key string, pieces int, state string) (id int64, err error) {
	result, err := db.ExecContext(ctx, "INSERT INTO orders (order_key, state) VALUES (NULLIF(?, ''), ?)", key, state)
	if err != nil {
		return 0, err
	}
	if id, err = result.LastInsertId(); err != nil {
		return id, err
	}
	if _, err = db.ExecContext(ctx, "INSERT INTO items VALUES (?, ?)", id, pieces); err != nil || state == "FAILED" {
		return id, err
	}
	_, err = db.ExecContext(ctx, "INSERT INTO deductions VALUES (?, ?)", id, pieces)
	return id, err
}

// recorded returns the first outcome under a key, if there is one. It is the same after a cancel.
func recorded(ctx context.Context, db *sql.DB, key string) (a answer, found bool) {
	var id int64
	var state string
	err := db.QueryRowContext(ctx, "SELECT id, state FROM orders WHERE order_key = ?", key).Scan(&id, &state)
	switch {
	case err != nil:
		return answer{}, false
	case state == "FAILED":
		return soldOut(), true
	case state == "CANCELLED":
		state = "CONFIRMED"
	}
	return inState(id, state), true
}
