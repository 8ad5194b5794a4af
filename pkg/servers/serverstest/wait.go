package serverstest

import (
	"testing"
	"time"
)

// Must ends the test if err is not nil.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventuallyWithin is longer than anything takes on a busy machine.
const eventuallyWithin = 2 * time.Minute

// Eventually waits until ok returns true, which another goroutine or process brings about. It ends the test if that
// does not happen within two minutes.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(eventuallyWithin); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
	}
}
