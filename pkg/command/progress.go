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
