// Package faults runs the fault matrix: every step of the protocol, before and
// after, under every fault that can strike it, and every fault around the
// system, alone and in pairs.
//
// A cell is one such experiment. Its run fires orders over a few fresh products,
// with repeats and cancellations; lets the fault strike in the middle, and
// counts that it did; heals; waits until no order is on its way any more; has
// the databases and the clients' history judged; and places a fresh order,
// which must succeed. A run whose fault never struck, or that had no traffic
// while the fault was on, proves nothing: it is unknown, and fails.
package faults
