package main

import (
	"fmt"
	"io"
	"time"
)

// progress prints what is being done, with the time since the start.
func progress(w io.Writer) func(string) {
	begin := time.Now()
	return func(doing string) { fmt.Fprintf(w, "%6.1fs  %s\n", time.Since(begin).Seconds(), doing) }
}
