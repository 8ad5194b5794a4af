package judge_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"orderstock/loadtest/judge"
	"orderstock/loadtest/verify"
	"orderstock/pkg/servers/serverstest"
)

// symptomatic is a right shop with the tables of the page of symptoms.
func symptomatic(t *testing.T, db *sql.DB) http.Handler {
	t.Helper()
	mux := http.NewServeMux()
	serve := func(path string, do func(tx *sql.Tx, r *http.Request) (id int64, refusal string, err error)) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			tx, err := db.BeginTx(r.Context(), nil)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			defer func() { _ = tx.Rollback() }()
			id, refusal, err := do(tx, r)
			if err == nil && refusal == "" {
				err = tx.Commit()
			}
			switch {
			case err != nil:
				http.Error(w, err.Error(), http.StatusInternalServerError)
			case refusal != "":
				http.Error(w, refusal, http.StatusConflict)
			default:
				w.WriteHeader(http.StatusCreated)
				fmt.Fprintf(w, `{"id":%d}`, id)
			}
		})
	}
	buy := func(tx *sql.Tx, r *http.Request) (id int64, refusal string, err error) {
		var body struct{ Customer string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			return 0, "", err
		}
		var left int
		if err := tx.QueryRow("SELECT stock FROM products WHERE id = 7 FOR UPDATE").Scan(&left); err != nil {
			return 0, "", err
		}
		key := sql.NullString{String: r.Header.Get("Idempotency-Key")}
		key.Valid = key.String != ""
		if err := tx.QueryRow("SELECT id FROM orders WHERE request_key = ?", key).Scan(&id); err == nil {
			return id, "", nil
		}
		var has int
		err = tx.QueryRow("SELECT COUNT(*) FROM orders WHERE customer = ? AND customer <> ''", body.Customer).Scan(&has)
		switch {
		case err != nil:
			return 0, "", err
		case has > 0:
			return 0, "one each", nil
		case left == 0:
			return 0, "sold out", nil
		}
		if _, err := tx.Exec("UPDATE products SET stock = stock - 1 WHERE id = 7"); err != nil {
			return 0, "", err
		}
		done, err := tx.Exec("INSERT INTO orders (request_key, customer, product_id, quantity, status) "+
			"VALUES (?, ?, 7, 1, 'confirmed')", key, body.Customer)
		if err != nil {
			return 0, "", err
		}
		id, err = done.LastInsertId()
		return id, "", err
	}
	serve("POST /api/orders", buy)
	serve("POST /api/coupons/redeem", buy)
	serve("POST /api/orders/{id}/cancel", func(tx *sql.Tx, r *http.Request) (int64, string, error) {
		done, err := tx.Exec("UPDATE orders SET status = 'cancelled' WHERE id = ? AND status = 'confirmed'",
			r.PathValue("id"))
		if err != nil {
			return 0, "", err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return 0, "it is cancelled", err
		}
		_, err = tx.Exec("UPDATE products SET stock = stock + 1 WHERE id = 7")
		return 0, "", err
	})
	return mux
}

// Each file of the page of symptoms, used as it is written, lets a right shop pass in each phase that it allows.
func TestTheFilesOfThePageLetARightShopPass(t *testing.T) {
	t.Parallel()
	for i, file := range symptomFiles(t) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			dsn := serverstest.Database(t)
			db, err := sql.Open("mysql", dsn)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			for _, statement := range []string{
				"CREATE TABLE products (id INT PRIMARY KEY, stock INT)", "INSERT INTO products VALUES (7, 20)",
				"CREATE TABLE orders (id INT PRIMARY KEY AUTO_INCREMENT, request_key VARCHAR(64) UNIQUE, " +
					"customer VARCHAR(64), product_id INT, quantity INT, status VARCHAR(20))",
			} {
				if _, err := db.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			for _, change := range [][2]string{
				{"target: http://127.0.0.1:3000", serve(t, symptomatic(t, db))},
				{"postgres://app:secret@127.0.0.1/shop", dsn},
			} {
				if !strings.Contains(file, change[0]) {
					t.Fatalf("there is no %s in\n%s", change[0], file)
				}
				file = strings.Replace(file, change[0], change[1], 1)
			}
			r := run(t, judge.Config{File: parse(t, "", file+"settle: 2s\n")})
			unread := slices.ContainsFunc(r.Phases, func(p judge.Phase) bool { return p.Unknown > 0 })
			if r.Outcome != verify.Pass || unread {
				t.Errorf("%s\n%s\n%s", r, file, text(r))
			}
		})
	}
}
