package serverstest

import (
	"context"
	"fmt"
	"testing"
)

// Example returns a testing.TB for an example, which has no test, and a function that runs its cleanups. A failure
// panics.
func Example() (tb testing.TB, end func()) {
	e := &example{}
	return e, e.end
}

// example implements testing.TB.
type example struct {
	testing.TB
	undo []func()
}

func (*example) Helper()                   {}
func (*example) Fatal(args ...any)         { panic(fmt.Sprint(args...)) }
func (*example) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }
func (*example) Errorf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }
func (*example) Error(args ...any)         { panic(fmt.Sprint(args...)) }
func (*example) Context() context.Context  { return context.Background() } //nolint:forbidigo // as long as the example
func (e *example) Cleanup(f func())        { e.undo = append(e.undo, f) }

func (e *example) end() {
	for i := range e.undo {
		e.undo[len(e.undo)-1-i]()
	}
}
