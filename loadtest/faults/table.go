package faults

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// table prints a line for each run as it ends, with the overall progress.
type table struct {
	mu    sync.Mutex
	out   io.Writer
	total int
	ended int
	began time.Time
}

const tableLine = "%-9s %-52s %6v %6v %6v %6v %6v %6v %8v %8v %8v  %s\n"

func newTable(out io.Writer, total int) *table {
	t := &table{out: out, total: total, began: time.Now()}
	fmt.Fprintf(out, tableLine, "", "CELL@SEED", "FIRED", "ORDERS", "OK", "REJ", "UNKNWN", "VIOL", "SETTLE", "LINEAR",
		"TOOK", "VERDICT")
	return t
}

// add prints a run. It is safe for concurrent use.
func (t *table) add(r *Run) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended++
	verdict := string(r.Outcome)
	if r.WritesAgainS != nil {
		verdict += fmt.Sprintf(" (writes again after %.1f s)", *r.WritesAgainS)
	}
	if r.Retried503+r.RetriedLost > 0 {
		verdict += fmt.Sprintf(" (retried: %d answers of 503, %d lost connections)", r.Retried503, r.RetriedLost)
	}
	for _, why := range r.Why {
		verdict += "\n          " + why
	}
	left := time.Since(t.began) / time.Duration(t.ended) * time.Duration(t.total-t.ended)
	if t.ended%10 == 0 {
		verdict += fmt.Sprintf("  (%s left)", left.Round(time.Second))
	}
	fmt.Fprintf(t.out, tableLine, fmt.Sprintf("[%d/%d]", t.ended, t.total), fmt.Sprintf("%s@%d", r.Cell.Name(), r.Seed),
		r.Fired, r.Orders, r.OK, r.Rejected, r.UnknownToClient, r.Violations,
		fmt.Sprintf("%.0fms", percentile(r.SettleMS, 0.99)), r.Linear, r.Took.Round(100*time.Millisecond), verdict)
}
