package zklock_test

import (
	"fmt"
	"strings"
	"testing"

	"orderstock/pkg/zklock/internal/conn"
)

// Each error code that ZooKeeper defines has a class.
func TestAllErrorCodesAreClassified(t *testing.T) {
	out, err := runJava(t, "ErrorCodes")
	must(t, err)
	seen := 0
	for line := range strings.Lines(out) {
		var (
			code int
			name string
		)
		if _, err := fmt.Sscan(line, &code, &name); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if _, ok := conn.Codes[code]; !ok && code != 0 {
			t.Errorf("%s (%d) has no class", name, code)
		}
		seen++
	}
	if seen < len(conn.Codes) {
		t.Errorf("ZooKeeper has %d codes, %d have a class", seen, len(conn.Codes))
	}
}
