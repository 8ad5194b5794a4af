package faults

import (
	"math/rand/v2"
	"strings"

	"orderstock/loadtest/system"
	"orderstock/loadtest/trial"
)

// New returns the fault of a cell, for a lab whose services run. The seed decides which replica it strikes, and at
// which arrival.
func New(l *system.System, c Cell, seed uint64) trial.Act {
	return faultOf(l, c, rand.New(rand.NewPCG(seed, hash(c.Name()))))
}

// faultOf returns the fault of a cell.
func faultOf(l *system.System, c Cell, rng *rand.Rand) trial.Act {
	if c.Step != Around {
		return newStrike(l, pointOf(c.Step), c, rng)
	}
	if c.Cluster {
		return newClustered(l, c.Fault)
	}
	if f := newLong(l, c.Fault, rng); f != nil {
		return f
	}
	both := &together{}
	for name := range strings.SplitSeq(c.Fault, "+") {
		both.add(l, name, rng)
	}
	return both
}
