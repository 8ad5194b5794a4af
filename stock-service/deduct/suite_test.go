package deduct_test

import (
	"testing"

	"orderstock/stock-service/deduct"
	"orderstock/stock-service/internal/stocktest"
)

func TestStrategies(t *testing.T) {
	for _, name := range []string{"grouped", "grouped-rows", "sequential", "conditional-update"} {
		t.Run(name, func(t *testing.T) { stocktest.Suite(t, name) })
	}
	if _, err := deduct.New("nonsense", deduct.Config{}); err == nil {
		t.Error("an unknown strategy was opened")
	}
}
