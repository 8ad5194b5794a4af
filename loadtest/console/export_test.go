package console

import (
	"testing"
	"time"
)

// Patience is how long a test waits for what must come. A slow machine may need much of it.
const Patience = 3 * time.Minute

// Await waits for something that other processes do, and looks now and then. If it does not come, the test fails, and
// why says what there is instead.
func Await(t *testing.T, done func() bool, why func() string) {
	t.Helper()
	for limit := time.Now().Add(Patience); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("after %s: %s", Patience, why())
		}
	}
}
