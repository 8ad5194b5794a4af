package fire_test

import (
	"math"
	"testing"

	"orderstock/loadtest/fire"
)

// TestNumbersThatAreNoneAreRefused, before anything is sent.
func TestNumbersThatAreNoneAreRefused(t *testing.T) {
	at := fire.Target{OrderURLs: []string{"http://127.0.0.1:1"}, StockURLs: []string{"http://127.0.0.1:1"}}
	want := map[string]fire.Config{
		"rate NaN: want 0, or 0.001 to 1000000 orders a second":   {Rate: math.NaN()},
		"rate +Inf: want 0, or 0.001 to 1000000 orders a second":  {Rate: math.Inf(1)},
		"rate 1e-09: want 0, or 0.001 to 1000000 orders a second": {Rate: 1e-9},
		"rate -1: want 0, or 0.001 to 1000000 orders a second":    {Rate: -1},
		"repeat and cancel are shares: want 0 to 1":               {Mix: fire.Mix{Repeat: math.NaN()}},
		"zipf NaN: want 0 to 10":                                  {Mix: fire.Mix{Zipf: math.NaN()}},
	}
	for message, cfg := range want {
		cfg.Target = at
		if _, err := fire.Run(t.Context(), cfg); err == nil || err.Error() != "fire: "+message {
			t.Errorf("error %v, want %q", err, message)
		}
	}
}
