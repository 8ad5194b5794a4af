//go:build !faults

package faultpoint

import "context"

// Enabled reports whether this build can be broken on purpose.
const Enabled = false

// At is where a fault can strike; it returns the error to fail the step with.
// In this build it does nothing.
func At(context.Context, Step, When) error { return nil }

// Mutant reports whether the process runs as the broken variant of that name.
// In this build it never does.
func Mutant(string) bool { return false }
