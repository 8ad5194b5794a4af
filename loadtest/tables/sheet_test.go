package tables_test

import (
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"testing"

	"orderstock/loadtest/tables"
)

// TestReportHasGapsInAStall: a report draws no time to answer where no order was answered.
func TestReportHasGapsInAStall(t *testing.T) {
	record := &tables.Record{Samples: []tables.Sample{
		{TMS: 250, OrdersPerS: 80, Confirmed: 80, P50MS: 4, P99MS: 90},
		{TMS: 500, OrdersPerS: 80, Confirmed: 80, P50MS: 5, P99MS: 80},
		{TMS: 750},
		{TMS: 1000, OrdersPerS: 4, Confirmed: 4, P50MS: 9, P99MS: 99},
		{TMS: 1250},
		{TMS: 1500, OrdersPerS: 44, Confirmed: 44, P50MS: 7, P99MS: 70},
		{TMS: 1750, OrdersPerS: 44, Confirmed: 44, P50MS: 7, P99MS: 60},
	}}
	var report strings.Builder
	if err := record.Sheet().Write(&report); err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`<path d="([^"]*)"`).FindAllStringSubmatch(report.String(), -1)
	if len(lines) != 8 { // in two languages; nothing was rejected, and nothing failed
		t.Fatalf("the report has %d lines, want two for each chart:\n%s", len(lines), report.String())
	}
	for i, pieces := range []int{1, 1, 3, 3, 1, 1, 3, 3} {
		if n := strings.Count(lines[i][1], "M"); n != pieces {
			t.Errorf("line %d is in %d pieces, want %d: %s", i, n, pieces, lines[i][1])
		}
	}
}

// TestSeedIsText for the page, whose numbers hold 53 bits; a run without one has none.
func TestSeedIsText(t *testing.T) {
	for seed, want := range map[uint64]string{math.MaxUint64: `"seed":"18446744073709551615"`, 0: ""} {
		text, err := json.Marshal(tables.Run{Seed: seed})
		if err != nil || !strings.Contains(string(text), want) || strings.Contains(string(text), "seed") != (want != "") {
			t.Errorf("%s, %v; want %q", text, err, want)
		}
		var read tables.Run
		if err := json.Unmarshal(text, &read); err != nil || read.Seed != seed {
			t.Errorf("seed %d is read as %d, %v", seed, read.Seed, err)
		}
	}
}
