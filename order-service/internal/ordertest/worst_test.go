package ordertest_test

import (
	"net/http"
	"testing"
	"time"

	"orderstock/order-service/order"
)

// However a deduction fails, the client has its answer within the confirm budget and a second more for the read of the
// order, and the order is tried no more often than the decision on repeats says.
func TestTheWorstWait(t *testing.T) {
	cfg := order.Config{
		ConfirmBudget: 4 * time.Second, // for a slow machine to send the deduction in
		PendingLimit:  16 * time.Second, CancelAfter: time.Minute,
	}
	worst := cfg.ConfirmBudget + time.Second
	const slow = 10 * time.Second // the machine; without its bound the answer would come after the pending limit
	for name, f := range map[string]fault{
		"cut before it takes effect": drop, "answer lost": dropReply, "silent": hold, "refused": refuse, "row held": pass,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, r := serve(t, cfg, 10)
			if f == pass {
				tx := w.stockDB.Begin()
				must(t, tx.Exec("SET SESSION wait_timeout = 600").Error)
				must(t, tx.Exec("SELECT num FROM stock WHERE goods_id = 1 FOR UPDATE").Error)
				defer tx.Rollback()
			}
			w.wire.breakAll(deductions(f))
			began := time.Now()
			a := r.place("", 1, 1)
			took := time.Since(began)
			t.Logf("answered %d after %s; the worst wait is %s", a.status, took, worst)
			if a.status != http.StatusAccepted && f != dropReply || took > worst+slow {
				t.Errorf("answered %d %s after %s, want it within %s", a.status, a.body, took, worst)
			}
			if tries := w.wire.count(http.MethodPut); tries < 1 || tries > 3 {
				t.Errorf("%d tries, want 1 to 3", tries)
			}
			w.wire.heal()
		})
	}
}
