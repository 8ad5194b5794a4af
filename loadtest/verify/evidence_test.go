package verify_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"orderstock/loadtest/history"
	"orderstock/loadtest/verify"
)

// Books come back from their file as they were, with bytes that are no text, and what is absent.
func TestEvidenceComesBackAsItWas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	exec(t, w.order, "UPDATE orders SET idempotency_key = NULL WHERE id = ?", orderID(3))
	exec(t, w.order, "UPDATE orders SET idempotency_key = '' WHERE id = ?", orderID(5))
	exec(t, w.stock, "UPDATE stock SET name = 'Tür 🚪' WHERE goods_id = 1")
	kept := w.verify(t)
	books, err := verify.Read(t.Context(), verify.Databases{OrderDSN: w.orderDSN, StockDSN: w.stockDSN})
	if err != nil {
		t.Fatal(err)
	}
	books.At = time.Time{} // a file has no monotonic time
	file := filepath.Join(t.TempDir(), "books.json")
	was := &verify.Evidence{Declared: []string{"by hand"}, Tables: *books}
	if err := history.SaveJSON(file, was); err != nil {
		t.Fatal(err)
	}
	again, err := verify.OpenEvidence(file)
	if err != nil || !reflect.DeepEqual(again, was) {
		t.Errorf("%v, read\n%+v\nwant\n%+v", err, again, was)
	}
	if v := again.Judge(w.h, 0); v.Outcome != verify.Violation || !reflect.DeepEqual(v.Violated(), kept.Violated()) {
		t.Errorf("%s of %v, want a violation of %v", v.Outcome, v.Violated(), kept.Violated())
	}
	text, err := json.Marshal(was)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		"{", strings.Replace(string(text), `"restock"`, `"stolen"`, 1),
		strings.Replace(string(text), `"`+flag(0)+`"`, `"🚪"`, 1),
	} {
		if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := verify.OpenEvidence(file); err == nil {
			t.Errorf("no error for %.300s", bad)
		}
	}
}
