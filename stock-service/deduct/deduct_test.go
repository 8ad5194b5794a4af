package deduct_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"orderstock/stock-service/deduct"
	"orderstock/stock-service/internal/stocktest"
)

func TestStrategies(t *testing.T) {
	for _, name := range []string{"grouped", "grouped-rows", "sequential"} {
		t.Run(name, func(t *testing.T) { stocktest.Suite(t, name) })
	}
	if _, err := deduct.New("nonsense", deduct.Config{}); err == nil {
		t.Error("an unknown strategy was opened")
	}
}

// The table of the README is the list.
func TestTheReadmeHasTheList(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range deduct.Strategies {
		name := "`" + s.Name + "`"
		if s.Name == deduct.Default {
			name += " (default)"
		}
		locks := s.LockServer
		if locks == "" {
			locks = "none"
		}
		if row := fmt.Sprintf("| %s | %s | %s |\n", name, s.Summary, locks); !strings.Contains(string(readme), row) {
			t.Errorf("README.md has no row\n%s", row)
		}
	}
}

func TestFind(t *testing.T) {
	for _, name := range deduct.Names() {
		if s, err := deduct.Find(name); err != nil || s.Name != name {
			t.Errorf("find %s: %+v, %v", name, s, err)
		}
	}
	if _, err := deduct.Find("groupde"); err == nil || !strings.Contains(err.Error(), "unsafe, single-node, ") {
		t.Errorf("find groupde: %v; want the names", err)
	}
	if s, err := deduct.Find(deduct.Default); err != nil || s.Unsafe() {
		t.Errorf("the default is %+v, %v", s, err)
	}
}
