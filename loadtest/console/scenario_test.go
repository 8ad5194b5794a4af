package console_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"orderstock/loadtest/console"
	"orderstock/loadtest/verify"
)

func TestAFaultOfTimeShowsByItsRate(t *testing.T) {
	for _, test := range []struct {
		broken, fixed float64
		want          bool
	}{
		{10, 20, true},
		{100, 120, true},
		{0, 10, true},
		{100, 119, false},
		{99, 100, false},
		{20, 10, false},
		{0, 0, false},
	} {
		p := console.Pair{
			Kind: "time", Broken: console.Played{OrdersPerS: test.broken}, Fixed: console.Played{OrdersPerS: test.fixed},
		}
		if got := p.Shown(); got != test.want {
			t.Errorf("%g broken and %g fixed: shown %t, want %t", test.broken, test.fixed, got, test.want)
		}
	}
}

func TestATourIsJudgedByItsWorstFault(t *testing.T) {
	caught := console.Pair{
		Kind: "books", Broken: console.Played{Outcome: verify.Violation}, Fixed: console.Played{Outcome: verify.Pass},
	}
	missed := console.Pair{
		Kind: "books", Broken: console.Played{Outcome: verify.Pass}, Fixed: console.Played{Outcome: verify.Pass},
	}
	slower := console.Pair{
		Kind: "time", Broken: console.Played{OrdersPerS: 10},
		Fixed: console.Played{Outcome: verify.Pass, OrdersPerS: 20},
	}
	faster := console.Pair{
		Kind: "time", Broken: console.Played{OrdersPerS: 20},
		Fixed: console.Played{Outcome: verify.Pass, OrdersPerS: 10},
	}
	failed := console.Pair{
		Kind: "books", Broken: console.Played{Outcome: verify.Violation},
		Fixed: console.Played{Outcome: verify.Violation},
	}
	for _, test := range []struct {
		pairs []console.Pair
		want  verify.Outcome
	}{
		{[]console.Pair{caught, slower}, verify.Pass},
		{[]console.Pair{caught, missed}, verify.Unknown},
		{[]console.Pair{slower, faster}, verify.Unknown},
		{[]console.Pair{missed, failed, caught}, verify.Violation},
	} {
		if got := console.Judge(test.pairs); got != test.want {
			t.Errorf("%+v: %s, want %s", test.pairs, got, test.want)
		}
	}
	var table bytes.Buffer
	if err := (console.Tour{missed}).Sheet().Text(&table); err != nil ||
		!strings.Contains(table.String(), "not caught this time") {
		t.Errorf("%q, %v", &table, err)
	}
}

// vendored are the files of axe-core 4.14.1, as "npm pack" delivers them. Only tests use them.
var vendored = map[string]string{
	"LICENSE":               "af175b9d96ee93c21a036152e1b905b0b95304d4ae8c2c921c7609100ba8df7e",
	"LICENSE-3RD-PARTY.txt": "4f8563870d0fca38bbc3e00b6f670cb7fa9f380ba9f26a7f7d1184a6b18b1653",
	"axe.min.js":            "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c",
	"package.json":          "dfa850050afad33744b89076848d905e2c60a6915e650e054bf038544930f6e0",
}

func TestAxeIsAsPublished(t *testing.T) {
	dir := filepath.Join("testdata", "axe")
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != len(vendored) {
		t.Fatalf("%d files, want %d, %v", len(entries), len(vendored), err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(data)
		if got := hex.EncodeToString(sum[:]); got != vendored[e.Name()] {
			t.Errorf("%s has SHA-256 %s, want %q", e.Name(), got, vendored[e.Name()])
		}
	}
	var about struct{ Version, License string }
	data, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &about); err != nil || about.Version != "4.14.1" || about.License != "MPL-2.0" {
		t.Errorf("%+v, %v", about, err)
	}
}
