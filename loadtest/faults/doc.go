// Package faults runs the fault matrix: every step of the protocol, before and after, under every fault that can strike
// it, and every fault around the system, alone and in pairs.
//
// A cell is one such experiment. Its run
//   - fires orders over a few fresh products, with repeats and cancellations,
//   - lets the fault strike in the middle, counts that it did, and heals it,
//   - waits until no order is unfinished,
//   - judges the databases and the clients' history,
//   - places a fresh order, which must succeed.
//
// A run whose fault never struck, or that had no traffic while the fault was on, proves nothing: its outcome is
// unknown, and it fails.
package faults
