package ladder

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"orderstock/loadtest/history"
)

func row(strategy string, replicas, goods, clients int, done, doneError float64) Row {
	return Row{
		Strategy: strategy, Path: history.PathDeduct, Goods: goods, Clients: clients, Replicas: replicas,
		DonePerS: done, DoneError: doneError, P50MS: 100, P99MS: 20,
	}
}

func TestTheDefaultIsComparedWithTheOthers(t *testing.T) {
	sellOut := row("grouped", 1, 1, 256, 999_999, 0)
	sellOut.SellOut = true
	r := Result{Rows: []Row{
		sellOut,
		row("case-study", 1, 1, 64, 100, 3), row("case-study", 1, 1, 256, 50, 1), // the better of the two counts
		row("grouped", 1, 1, 64, 3000, 90), row("grouped", 1, 1, 256, 4000, 160),
		row("grouped", 3, 1, 256, 3900, 117), row("grouped-rows", 3, 1, 256, 3900, 0),
		row("grouped", 1, 100, 1, 80, 8), row("conditional-update", 1, 100, 1, 100, 0), // not under load
	}}
	var got []string
	for _, row := range r.compared().Rows {
		got = append(got, strings.Join(row.Cells, "; "))
	}
	if want := []string{
		"deduct; 1; 4000/s; `case-study`; 100/s; 40.00 ± 2.00", "deduct; 3; 3900/s; `grouped-rows`; 3900/s; 1.00 ± 0.03",
	}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestDoneError(t *testing.T) {
	turn := func(ends ...time.Duration) *history.Report {
		h := &history.History{Warmup: time.Second, Window: time.Second + 2*slice + slice/2}
		for _, at := range ends {
			h.Calls = append(h.Calls, history.Call{Kind: history.Place, Status: history.Done, Done: at})
		}
		h.Calls = append(h.Calls, history.Call{Kind: history.Place, Status: history.Rejected, Done: time.Second})
		return &history.Report{History: h}
	}
	// Two slices of 312.5 ms each; before and after them nothing counts: 2, 0, 1 and 1 sales.
	width := 5 * slice / 4
	got := doneError([]*history.Report{
		turn(time.Second-1, time.Second, time.Second+width-1),
		turn(time.Second, time.Second+width, time.Second+2*width),
	})
	if want := math.Sqrt(2.0/3/4) / width.Seconds(); math.Abs(got-want) > 1e-9 {
		t.Errorf("%v, want %v", got, want)
	}
}
