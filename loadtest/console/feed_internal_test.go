package console

import (
	"bytes"
	"testing"
	"time"

	"orderstock/loadtest/tables"
)

// TestPageThatDoesNotReadIsDropped: it must hold nobody up, and another page gets everything.
func TestPageThatDoesNotReadIsDropped(t *testing.T) {
	f := newFeed()
	stalled, reading := f.open(), f.open()
	got := make(chan int)
	go func() {
		n := 0
		for e := range reading {
			if bytes.HasPrefix(e, []byte("event: sample\n")) {
				n++
			}
		}
		got <- n
	}()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for i := range 2 * backlog {
			f.set("sample", tables.Sample{TMS: tables.Millis(i)})
			for len(reading) == backlog { // only the stalled page may fall behind
				time.Sleep(time.Millisecond)
			}
		}
	}()
	select {
	case <-sent:
	case <-time.After(Patience):
		t.Fatal("a page that does not read holds the others up")
	}
	f.close(reading)
	if n := <-got; n != 2*backlog {
		t.Errorf("the other page got %d of %d samples", n, 2*backlog)
	}
	left := 0
	for range stalled { // ends, as the stream is closed
		left++
	}
	if left != backlog {
		t.Errorf("%d events wait for the stalled page, want %d", left, backlog)
	}
	if f.watched() {
		t.Error("a page counts as open after all are closed")
	}
}
