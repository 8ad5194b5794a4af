package ordertest_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"gorm.io/gorm"

	"orderstock/order-service/order"
	"orderstock/pkg/operation"
)

// TestTheAuditFindsBooksThatDisagree: each kind of disagreement is counted, and books that agree are not.
func TestTheAuditFindsBooksThatDisagree(t *testing.T) {
	w, r := serve(t, enough, 100)
	confirmed, rejected, cancelled := r.place("", 1, 1), r.place("", 1, 200), r.place("", 1, 2)
	r.call("POST", "/v1/orders/"+cancelled.order.ID+"/cancel", "")
	audit := func() (wrong int64) {
		t.Helper()
		before, checked := r.Stats().BooksWrong.Load(), r.Stats().BooksChecked.Load()
		must(t, r.reconciler().Audit(t.Context()))
		if n := r.Stats().BooksChecked.Load() - checked; n != 3 {
			t.Errorf("%d orders checked, want 3", n)
		}
		return r.Stats().BooksWrong.Load() - before
	}
	if wrong := audit(); wrong != 0 {
		t.Fatalf("%d of good books disagree", wrong)
	}
	status := func(id, now string) string { return "UPDATE orders SET status = '" + now + "' WHERE id = " + id }
	num := "UPDATE order_items SET num = %d WHERE order_id = " + confirmed.order.ID
	for name, c := range map[string]struct {
		db           *gorm.DB
		change, undo string
	}{
		"an order said to be confirmed": {
			w.orderDB, status(rejected.order.ID, "CONFIRMED"), status(rejected.order.ID, "REJECTED"),
		},
		"an order said to be rejected": {
			w.orderDB, status(confirmed.order.ID, "REJECTED"), status(confirmed.order.ID, "CONFIRMED"),
		},
		"a cancellation undone": {
			w.orderDB, status(cancelled.order.ID, "CONFIRMED"), status(cancelled.order.ID, "CANCELLED"),
		},
		"other items":        {w.orderDB, fmt.Sprintf(num, 2), fmt.Sprintf(num, 1)},
		"a level below zero": {w.stockDB, "UPDATE stock SET num = num - 1000", "UPDATE stock SET num = num + 1000"},
	} {
		must(t, c.db.Exec(c.change).Error)
		if wrong := audit(); wrong != 1 {
			t.Errorf("%s: %d disagree, want 1", name, wrong)
		}
		must(t, c.db.Exec(c.undo).Error)
	}
	must(t, w.stockDB.Exec("DELETE FROM stock_flow WHERE flag = ?", confirmed.order.ID).Error)
	if wrong := audit(); wrong != 1 {
		t.Errorf("a ledger without flow rows: %d disagree, want 1", wrong)
	}
	must(t, w.stockDB.Exec("UPDATE operations SET state = 'CANCELLED' WHERE flag = ?", confirmed.order.ID).Error)
	if wrong := audit(); wrong != 1 {
		t.Errorf("an operation that changed: %d disagree, want 1", wrong)
	}
}

// TestTheAuditOfAnOrderThatIsDeleted: an order that is deleted with its operation, after the audit has read it, is no
// disagreement; and one that cannot be read again is an error, not a disagreement.
func TestTheAuditOfAnOrderThatIsDeleted(t *testing.T) {
	w := newWorld(t)
	w.stock.Timeout = time.Minute // of a look-up that is held for as long as the change of the tables takes
	w.restock(1, 100)
	r := w.replica(enough)
	placed := r.place("", 1, 1)
	audit := func(meanwhile string) error {
		t.Helper()
		w.wire.breakAll(func(*http.Request) fault { return hold })
		done := make(chan error, 1)
		go func() { done <- r.reconciler().Audit(t.Context()) }()
		eventually(t, "the operation is looked up", func() bool { return w.wire.holding() > 0 })
		must(t, w.orderDB.Exec(meanwhile).Error)
		w.wire.heal()
		return <-done
	}
	for _, table := range []string{"stock_flow", "operations"} {
		must(t, w.stockDB.Exec("DELETE FROM "+table+" WHERE flag = ?", placed.order.ID).Error)
	}
	if err := audit("RENAME TABLE orders TO gone"); !errors.Is(err, order.ErrUnavailable) {
		t.Errorf("an order that cannot be read again: %v; want it unavailable", err)
	}
	must(t, w.orderDB.Exec("RENAME TABLE gone TO orders").Error)
	if err := audit("DELETE FROM orders WHERE id = " + placed.order.ID); err != nil {
		t.Error(err)
	}
	if wrong := r.Stats().BooksWrong.Load(); wrong != 0 {
		t.Errorf("%d disagreements, want none", wrong)
	}
}

// TestAnAuditThatFailedIsMadeAgain: orders whose records could not be read are not passed over, not even while the
// circuit breaker is open.
func TestAnAuditThatFailedIsMadeAgain(t *testing.T) {
	const page, more = 200, 5
	w := newWorld(t)
	r := w.replica(enough)
	for i := range page + more {
		must(t, w.orderDB.Exec("INSERT INTO orders (id, status, total, body_hash, created_at, updated_at)"+
			" VALUES (?, 'PENDING', 1, REPEAT('0', 32), NOW(6), NOW(6))", i+1).Error)
	}
	reconciler := r.reconciler()
	w.wire.breakAll(func(*http.Request) fault { return drop })
	for range 10 { // that many failures open the breaker
		if err := reconciler.Audit(t.Context()); err == nil {
			t.Fatal("the audit succeeded without the stock service")
		}
	}
	w.wire.heal()
	for _, want := range []int64{page, more} {
		var n int64
		eventually(t, "the audit succeeds", func() bool {
			before := r.Stats().BooksChecked.Load()
			err := reconciler.Audit(t.Context())
			n = r.Stats().BooksChecked.Load() - before
			if !errors.Is(err, operation.ErrUnavailable) {
				must(t, err)
			}
			return err == nil
		})
		if n != want {
			t.Errorf("%d orders checked, want %d", n, want)
		}
	}
}

// TestOrdersThatCannotBeRead: a round and an audit report the database's failure, and a repeat is not refused as new.
func TestOrdersThatCannotBeRead(t *testing.T) {
	w, r := serve(t, enough, 10)
	r.place("key", 1, 1)
	reconciler := r.reconciler()
	must(t, w.orderDB.Exec("RENAME TABLE orders TO gone").Error)
	if _, err := reconciler.Round(t.Context()); !errors.Is(err, order.ErrUnavailable) {
		t.Errorf("round: %v; want it unavailable", err)
	}
	if err := reconciler.Audit(t.Context()); !errors.Is(err, order.ErrUnavailable) {
		t.Errorf("audit: %v; want it unavailable", err)
	}
	// Of an unknown product a key could still name an earlier order, which is not known now.
	r.place("key", 2, 1).want(t, http.StatusServiceUnavailable)
}
