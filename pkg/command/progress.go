package command

import (
	"fmt"
	"io"
	"time"
)

// Progress returns a function that prints a step of the work to w, with the seconds since Progress was called.
func Progress(w io.Writer) func(doing string) {
	begin := time.Now()
	return func(doing string) { fmt.Fprintf(w, "%6.1fs  %s\n", time.Since(begin).Seconds(), doing) }
}

// StillCompiling says every ten seconds that the compiler is still at work, until the function that it returns is
// called. On a cold machine that takes minutes.
func StillCompiling(say func(doing string)) (stop func()) {
	tick, stopped, ended := time.NewTicker(10*time.Second), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-tick.C:
				say("still compiling; the first time takes minutes")
			case <-stopped:
				return
			}
		}
	}()
	return func() { tick.Stop(); close(stopped); <-ended }
}
