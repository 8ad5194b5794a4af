package strategy_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"orderstock/stock-service/deduct/strategy"
)

// The table of the README is the list.
func TestTheReadmeHasTheList(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range strategy.All {
		name := "`" + s.Name + "`"
		if s.Name == strategy.Default {
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
	for _, name := range strategy.Names() {
		if s, err := strategy.Find(name); err != nil || s.Name != name {
			t.Errorf("find %s: %+v, %v", name, s, err)
		}
	}
	if _, err := strategy.Find("groupde"); err == nil || !strings.Contains(err.Error(), "unsafe, single-node, ") {
		t.Errorf("find groupde: %v; want the names", err)
	}
	if s, err := strategy.Find(strategy.Default); err != nil || s.Unsafe() {
		t.Errorf("the default is %+v, %v", s, err)
	}
}
