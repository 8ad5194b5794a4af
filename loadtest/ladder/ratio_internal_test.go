package ladder

import (
	"slices"
	"strings"
	"testing"

	"orderstock/loadtest/history"
)

func row(strategy string, replicas, goods, clients int, done float64, legs ...float64) Row {
	return Row{
		Strategy: strategy, Path: history.PathDeduct, Goods: goods, Clients: clients, Replicas: replicas,
		DonePerS: done, Legs: legs, P50MS: 100, P99MS: 20,
	}
}

func TestTheDefaultIsComparedWithTheOthers(t *testing.T) {
	sellOut := row("grouped", 1, 1, 256, 999_999)
	sellOut.SellOut = true
	r := Result{Rows: []Row{
		sellOut,
		row("case-study", 1, 1, 64, 100, 90, 110), row("case-study", 1, 1, 256, 50, 50, 50), // the better of the two counts
		row("grouped", 1, 1, 64, 3000, 3000, 3000), row("grouped", 1, 1, 256, 4000, 4000, 4000),
		row("grouped", 3, 1, 256, 3900, 3900), row("grouped-rows", 3, 1, 256, 3900, 3900),
		row("grouped", 1, 100, 1, 80, 80), row("conditional-update", 1, 100, 1, 100, 100), // not under load
	}}
	var got []string
	for _, row := range r.compared().Rows {
		got = append(got, strings.Join(row.Cells, "; "))
	}
	if want := []string{
		"deduct; 1; 4,000/s; `case-study`; 100/s; 40.00 ± 4.00", "deduct; 3; 3,900/s; `grouped-rows`; 3,900/s; 1.00",
	}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
