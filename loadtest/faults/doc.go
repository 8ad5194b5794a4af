// Package faults holds the fault matrix as data: every step of the protocol, before and after, under every fault that
// can strike it, every fault around the system, alone and in pairs, and every fault of a cluster. Each cell is a
// trial.Experiment. It
//   - fires orders over a few fresh products, with repeats and cancellations,
//   - lets the fault strike in the middle, counts that it did, and heals it,
//   - waits until no order is unfinished,
//   - judges the databases and the clients' history,
//   - places a fresh order, which must succeed.
package faults
