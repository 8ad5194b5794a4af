package ladder

import (
	"math"
	"strings"
	"testing"
	"time"

	"orderstock/loadtest/history"
)

func row(strategy string, replicas, goods, clients int, done, doneError float64) Row {
	return Row{
		Strategy: strategy, Path: PathDeduct, Replicas: replicas, Goods: goods, Clients: clients,
		DonePerS: done, DoneError: doneError, P50MS: 100, P99MS: 20,
	}
}

func TestRatios(t *testing.T) {
	lines := map[string]string{}
	sellOut := row("grouped", 1, 1, 256, 999_999, 0)
	sellOut.SellOut = true
	for _, r := range ratioTable(ratios([]Row{
		sellOut,
		row("case-study", 1, 1, 64, 100, 3), row("case-study", 1, 1, 256, 50, 1),
		row("conditional-update", 1, 1, 256, 400, 0),
		row("grouped", 1, 1, 64, 3000, 90), row("grouped", 1, 1, 256, 4000, 160), // the better of the two counts
		row("grouped", 3, 1, 256, 3900, 117),
		row("grouped", 1, 100, 1, 80, 8), row("conditional-update", 1, 100, 1, 100, 0),
		row("grouped", 1, 1, 1, 95, 5), row("sequential", 1, 1, 1, 100, 5),
	})...).Rows {
		lines[r.Cells[0]] = strings.Join(r.Cells[1:], "; ")
	}
	for name, want := range map[string]string{
		"deduct, one hot product: grouped / case-study":           "40.00 ± 2.00; 40",
		"deduct, one hot product: grouped / conditional-update":   "10.00 ± 0.40; 12, **missed**",
		"deduct, 64 clients: p50 of case-study / p99 of grouped":  "5.00; 1",
		"deduct, 256 clients: p50 of case-study / p99 of grouped": "5.00; 1",
		// Its error is no excuse.
		"deduct, 100 products, 1 clients: grouped / conditional-update":   "0.80 ± 0.08; 0.9, **missed**",
		"deduct, one client: grouped / sequential":                        "0.95 ± 0.07; 0.9",
		"deduct, one hot product: grouped with three replicas / with one": "0.97 ± 0.05; 1, within its error",
	} {
		if lines[name] != want {
			t.Errorf("%s: %q, want %q", name, lines[name], want)
		}
		delete(lines, name)
	}
	if len(lines) > 0 {
		t.Errorf("for unmeasured rows: %v", lines)
	}
}

func TestThreeReplicasThatAreSlowerAreFoundOut(t *testing.T) {
	all := ratios([]Row{row("grouped", 1, 1, 256, 4000, 40), row("grouped", 3, 1, 256, 3900, 40)})
	if len(all) != 1 || all[0].OK {
		t.Errorf("%+v; want it missed: 0.975 ± 0.014", all)
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
