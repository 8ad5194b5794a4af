package locks

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Worker is one process of contenders. They contend for one of Names on several paths, in windows.
type Worker struct {
	Servers    []string
	Path       string // before its number
	Goroutines int
	Hold       time.Duration // how long each holds

	Lock  string
	Paths int // for which the contenders of all processes take turns
	First int // number of this process's first contender
}

// Work is the process that [Start] starts, with its last argument. It reads orders, a line each, and writes records, a
// line of JSON each, until the orders end.
func Work(ctx context.Context, worker string, orders io.Reader, out io.Writer) error {
	var w Worker
	if err := json.Unmarshal([]byte(worker), &w); err != nil {
		return fmt.Errorf("read worker: %w", err)
	}
	return w.measure(ctx, orders, json.NewEncoder(out))
}
