package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"orderstock/loadtest/system"
	"orderstock/loadtest/verify"
)

// Side is an experiment on a system next to others.
type Side struct {
	// Experiment has the load as it is fired. Its checks are made before and after each turn, as Intact and Sent.
	Experiment
	System *system.System
	// Close stops it, also after ctx has ended.
	Close func(ctx context.Context) error

	turns []*Result
}

// takeTurns lets the experiments take turns, and judges all of them after the last one.
func (s Suite) takeTurns(ctx context.Context) (_ *Report, err error) {
	var sides []*Side
	defer func() {
		for _, side := range sides {
			err = errors.Join(err, side.Close(ctx))
		}
	}()
	for _, e := range s.Experiments {
		side, err := s.Open(ctx, e)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", e.Name, err)
		}
		sides = append(sides, side)
	}
	for turn := range s.Turns {
		for _, side := range ordered(sides, s.TurnsBefore+turn) {
			r := side.begin(side.System, s.FirstSeed, nil, nil)
			err := errors.Join(r.check(ctx, Intact), r.fire(ctx), r.check(ctx, Sent), ctx.Err())
			if err != nil {
				return nil, fmt.Errorf("fire at %s: %w", side.Name, err)
			}
			r.judgeStrikes()
			side.turns = append(side.turns, r.Result)
		}
		s.Watch("turn", fmt.Sprintf("%d of %d: %s", turn+1, s.Turns, rates(sides)))
	}
	ended := newProgress(io.Discard, s.Turns*len(sides))
	for _, side := range sides {
		for _, r := range side.turns {
			if r.Verdict, err = side.System.Judge(ctx, verify.Config{History: r.History}); err != nil {
				return nil, fmt.Errorf("judge %s: %w", side.Name, err)
			}
			r.judge(r.Verdict)
			ended.add(side.Experiment, r)
		}
	}
	return newReport(s, ended), nil
}

// ordered returns all in the order of a turn: the reverse order of the turn before, so that a steady drift affects all
// of them.
func ordered[T any](all []T, turn int) []T {
	all = slices.Clone(all)
	if turn%2 == 1 {
		slices.Reverse(all)
	}
	return all
}

// rates names the sides with the sales a second of their last turns.
func rates(sides []*Side) string {
	var each []string
	for _, side := range sides {
		last := side.turns[len(side.turns)-1]
		each = append(each, fmt.Sprintf("%s %.0f/s", side.Name, last.History.Measure().DonePerS))
	}
	return strings.Join(each, "; ")
}
