// Package demo has six small shops on MySQL: one that is right, and five that are wrong in ways found in public ones.
// They show the judgement of package judge, and are its mutants: each must be judged as Shops says.
package demo

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
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
}

// Shops returns the shops, the right one first.
func Shops() []Shop {
	return []Shop{
		{"right", "one transaction decides; the key keeps its outcome", "", "", right},
		{"gives-back", "a refusal gives back pieces that it never took", judge.Alone, judge.NotOversold, givesBack},
		{
			"one-transaction", "all requests share one transaction object", judge.Together, judge.AcceptedIsKept,
			oneTransaction,
		},
		{
			"early-check", "the check comes early; the counter is read, changed and written late", judge.Together,
			judge.NotOversold, earlyCheck,
		},
		{
			"stock-first", "the stock is looked at before the key", judge.Repeated, judge.OneAnswerPerKey, stockFirst,
		},
		{"no-key", "the key is ignored: each repeat deducts", judge.Repeated, judge.OneOrderPerKey, noKey},
	}
}

// tables are the same for all shops. A shop without keys leaves order_key empty.
const tables = `
CREATE TABLE inventory (product INT PRIMARY KEY, available INT NOT NULL);
CREATE TABLE orders (id BIGINT PRIMARY KEY AUTO_INCREMENT, order_key VARCHAR(64) UNIQUE, pieces INT NOT NULL,
	state VARCHAR(16) NOT NULL);
CREATE TABLE deductions (order_id BIGINT NOT NULL, pieces INT NOT NULL);
INSERT INTO inventory VALUES (1, 0)`

// file is the file for the judge. The service has no key column to show if it ignores keys.
const file = `target: %[1]s
stock: {"1": 30}
reset:
  - sql:
      - SET SESSION innodb_lock_wait_timeout = 2
      - DELETE FROM orders
      - DELETE FROM deductions
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
  dsn: "%[2]s"
  stock: SELECT product, available AS pieces FROM inventory
  orders: SELECT id, order_key AS ` + "`key`" + `, 1 AS product, pieces, state FROM orders
  deductions: SELECT order_id, 1 AS product, pieces FROM deductions
  sold: [CONFIRMED]
  void: [FAILED]
settle: 1s
`

// answer is a shop's answer to an order.
type answer struct {
	status int
	body   map[string]any
}

func confirmed(id int64) answer {
	return answer{http.StatusCreated, map[string]any{"id": id, "state": "CONFIRMED"}}
}

func soldOut() answer { return answer{http.StatusConflict, map[string]any{"error": "sold out"}} }

func failed(err error) answer {
	return answer{http.StatusInternalServerError, map[string]any{"error": err.Error()}}
}

// handler serves POST /orders.
func handler(order func(key string, pieces int) answer) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Pieces int `json:"pieces"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body.Pieces < 1 {
			http.Error(w, "want pieces", http.StatusBadRequest)
			return
		}
		a := order(r.Header.Get("Idempotency-Key"), body.Pieces)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(a.status)
		_ = json.NewEncoder(w).Encode(a.body) // a client that has gone needs no answer
	})
	return mux
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

// take takes pieces from the stock, if there are as many.
func take(ctx context.Context, tx *sql.Tx, pieces int) (taken bool, err error) {
	const query = "UPDATE inventory SET available = available - ? WHERE product = 1 AND available >= ?"
	result, err := tx.ExecContext(ctx, query, pieces, pieces)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n == 1, err
}

// insert adds an order, and its deduction if it is confirmed. An empty key is none.
func insert(ctx context.Context, tx *sql.Tx, key string, pieces int, state string) (id int64, err error) {
	const query = "INSERT INTO orders (order_key, pieces, state) VALUES (NULLIF(?, ''), ?, ?)"
	result, err := tx.ExecContext(ctx, query, key, pieces, state)
	if err != nil {
		return 0, err
	}
	if id, err = result.LastInsertId(); err != nil || state != "CONFIRMED" {
		return id, err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO deductions VALUES (?, ?)", id, pieces)
	return id, err
}

// recorded returns the first outcome under a key, if there is one.
func recorded(ctx context.Context, db *sql.DB, key string) (a answer, found bool) {
	var id int64
	var state string
	err := db.QueryRowContext(ctx, "SELECT id, state FROM orders WHERE order_key = ?", key).Scan(&id, &state)
	switch {
	case err != nil:
		return answer{}, false
	case state == "FAILED":
		return soldOut(), true
	}
	return confirmed(id), true
}
