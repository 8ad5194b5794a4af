package tables

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"orderstock/loadtest/lanes"
	"orderstock/loadtest/report"
	"orderstock/loadtest/verify"
)

// Pair is the outcome of both variants of a published fault.
type Pair struct {
	Letter string `json:"letter"`
	Title  string `json:"title"`
	Kind   string `json:"kind"` // "books" or "time"
	Broken Run    `json:"broken"`
	Fixed  Run    `json:"fixed"`
	// What happened in both; nil if the events do not show it.
	BrokenScene *lanes.Scene `json:"broken_scene"`
	FixedScene  *lanes.Scene `json:"fixed_scene"`
}

// shownBy is how many times the rate of the broken variant the fixed one's must be to show a fault of time. Two runs
// of one variant differ by less.
const shownBy = 1.2

// Shown reports whether the broken variant went wrong. A fault that costs only
// time shows in the two rates.
func (p Pair) Shown() bool {
	if p.Kind == "time" {
		return p.Fixed.OrdersPerS > 0 && p.Fixed.OrdersPerS >= shownBy*p.Broken.OrdersPerS
	}
	return p.Broken.Verdict == verify.Violation
}

// Both plays the broken variant of a published fault, with that first seed, and then the fixed one, with the seed that
// caught the broken one. Seed 0 is the default.
func (p *Player) Both(ctx context.Context, f Fault, seed uint64) (Pair, error) {
	seed = cmp.Or(seed, FirstSeed)
	pair := Pair{Letter: f.Letter, Title: f.Title, Kind: f.Kind()}
	for _, of := range []struct {
		side  Side
		run   *Run
		scene **lanes.Scene
	}{{Broken, &pair.Broken, &pair.BrokenScene}, {Fixed, &pair.Fixed, &pair.FixedScene}} {
		e, run := f.Play(of.side, seed)
		r, err := p.Play(ctx, e, run)
		if err != nil {
			return pair, fmt.Errorf("play %s, %s: %w", f.Letter, of.side, err)
		}
		*of.run, *of.scene = r.Run, r.Scene
		if r.Run.Verdict == verify.Violation {
			seed, _ = strconv.ParseUint(r.Run.Seed, 10, 64) // it was made of a number
		}
	}
	return pair, nil
}

// Pairs are the outcomes of published faults, one after the other.
type Pairs []Pair

// Outcome is a violation if a fixed variant did not pass, unknown if a broken one was not caught, otherwise a pass.
func (pairs Pairs) Outcome() verify.Outcome {
	outcome := verify.Pass
	for _, p := range pairs {
		switch {
		case p.Fixed.Verdict != verify.Pass:
			return verify.Violation
		case !p.Shown():
			outcome = verify.Unknown
		}
	}
	return outcome
}

// Whole reports whether the tour has all published faults.
func (pairs Pairs) Whole() bool { return len(pairs) >= len(Published) }

// Sheet describes the tour, with a row for each fault.
func (pairs Pairs) Sheet() report.Sheet {
	s := report.Sheet{
		Title: "The published faults, each broken and fixed", Word: strings.ToUpper(string(pairs.Outcome())),
	}
	table := report.NewTable("", "broken", "fixed", "observed with the fault")
	shown := 0
	for _, p := range pairs {
		broken, fixed, seen := string(p.Broken.Verdict), string(p.Fixed.Verdict), p.Broken.Sentence
		ok := p.Shown() && p.Fixed.Verdict == verify.Pass
		if ok {
			shown++
		}
		switch {
		case p.Kind == "time":
			broken = fmt.Sprintf("%.0f orders/s", p.Broken.OrdersPerS)
			fixed = fmt.Sprintf("%.0f orders/s%s", p.Fixed.OrdersPerS, report.Unless(p.Fixed.Verdict))
			seen = fmt.Sprintf("%.1f times as many orders without it", p.Fixed.OrdersPerS/max(p.Broken.OrdersPerS, 0.1))
		case !p.Shown():
			broken = "**not caught this time**"
		}
		if p.Broken.Seed != pairs[0].Broken.Seed {
			seen += " (seed " + p.Broken.Seed + ")"
		}
		table.Add(!ok, p.Letter, broken, fixed, strings.TrimSpace(seen))
	}
	if len(pairs) > 0 {
		s.Sentence = fmt.Sprintf("%d of %d faults go wrong broken and right fixed", shown, len(pairs))
		s.Facts = []report.Fact{{Name: "Seed", Value: pairs[0].Broken.Seed}}
		s.Add(report.Part{Title: "Every fault", Says: s.Sentence + ", seed " + pairs[0].Broken.Seed + ".", Table: table})
	}
	for _, p := range pairs {
		broken, fixed := p.BrokenScene.Part(p.Letter+", broken"), p.FixedScene.Part(p.Letter+", fixed")
		broken.Detail, fixed.Detail = true, true
		s.Add(broken, fixed)
	}
	return s
}
