package demo_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"orderstock/loadtest/judge/demo"
	"orderstock/pkg/servers/serverstest"
)

// TestMain makes the test's binary a shop if Judge asks for it.
func TestMain(m *testing.M) {
	if demo.Asked() {
		fmt.Fprintln(os.Stderr, demo.Serve(context.Background()))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// The document has each shop, with its mistake.
func TestTheDocumentHasEachShop(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range demo.Shops() {
		row := fmt.Sprintf("| %s | %s | `%s` | %s |\n", s.Name, s.Phase, s.Violates, s.Says)
		if s.Phase == "" {
			row = fmt.Sprintf("| %s | | | %s |\n", s.Name, s.Says)
		}
		if !strings.Contains(string(text), row) {
			t.Errorf("README.md has no row\n%s", row)
		}
	}
}

// The right shops pass with ten seeds, and each wrong one is found with three, in its phase and for its mistake.
func TestEachShopIsJudgedForWhatItDoes(t *testing.T) {
	t.Parallel()
	for _, s := range demo.Shops() {
		seeds := uint64(3)
		if s.Phase == "" {
			seeds = 10
		}
		for seed := range seeds {
			t.Run(fmt.Sprintf("%s/%d", s.Name, seed+1), func(t *testing.T) {
				t.Parallel()
				r, err := demo.Judge(t.Context(), s, serverstest.Database(t), seed+1, nil)
				if err != nil {
					t.Fatal(err)
				}
				if !s.Judged(r) {
					text, _ := json.MarshalIndent(r, "", " ")
					phase, violated := demo.Found(r)
					t.Errorf("phase %q, violated %v; want %q, %s\n%s", phase, violated, s.Phase, s.Violates, text)
				}
			})
		}
	}
}
