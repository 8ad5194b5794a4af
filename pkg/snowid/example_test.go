package snowid_test

import (
	"fmt"
	"time"

	"orderstock/pkg/snowid"
)

// A scan for rows older than a moment needs no column of time: ids tell.
func ExampleFirstAt() {
	moment := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	first := snowid.FirstAt(moment)
	fmt.Println(first, snowid.Time(first).UTC())
	// Output: 2006924427391926272 2026-01-02 03:04:05 +0000 UTC
}
