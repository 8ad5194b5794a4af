package demo_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"orderstock/loadtest/judge/demo"
	"orderstock/pkg/servers/serverstest"
)

// The right shop passes with ten seeds, and each wrong one is found with three, in its phase and for its mistake.
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
