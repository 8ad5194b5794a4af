package tables

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"orderstock/loadtest/lanes"
	"orderstock/loadtest/report"
	"orderstock/loadtest/verify"
)

// Pair is the outcome of both variants of a published fault, and of the product with the same orders.
type Pair struct {
	Letter string `json:"letter"`
	Title  string `json:"title"`
	Kind   string `json:"kind"` // "books" or "time"
	Broken Run    `json:"broken"`
	Fixed  Run    `json:"fixed"`
	Here   Run    `json:"here"`
	// What happened in each; nil if the events do not show it.
	BrokenScene *lanes.Scene `json:"broken_scene"`
	FixedScene  *lanes.Scene `json:"fixed_scene"`
	HereScene   *lanes.Scene `json:"here_scene"`
}

// played is the run of a side, with its name in a document.
type played struct {
	side  Side
	name  string
	run   *Run
	scene **lanes.Scene
}

// sides lists the sides in the order of their runs.
func (p *Pair) sides() []played {
	return []played{
		{Broken, "Broken", &p.Broken, &p.BrokenScene},
		{Fixed, "Fixed", &p.Fixed, &p.FixedScene},
		{Here, "As it runs here", &p.Here, &p.HereScene},
	}
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

// right reports whether the fixed variant and the product passed.
func (p Pair) right() bool { return p.Fixed.Verdict == verify.Pass && p.Here.Verdict == verify.Pass }

// All plays the broken variant of a published fault, with that first seed, and then the fixed one and the product, with
// the seed that caught the broken one, and as many buyers. Seed 0 is the default.
func (p *Player) All(ctx context.Context, f Fault, seed uint64) (Pair, error) {
	seed = cmp.Or(seed, FirstSeed)
	pair := Pair{Letter: f.Letter, Title: f.Title, Kind: f.Kind()}
	for _, of := range pair.sides() {
		e, run := f.Play(of.side, seed)
		r, err := p.Play(ctx, e, run)
		if err != nil {
			return pair, fmt.Errorf("play %s, %s: %w", f.Letter, of.side, err)
		}
		*of.run, *of.scene, f = r.Run, r.Scene, f.Among(r.Run.Buyers)
		if r.Run.Verdict == verify.Violation {
			seed = r.Run.Seed
		}
	}
	return pair, nil
}

// Pairs are the outcomes of published faults, one after the other.
type Pairs []Pair

// Outcome is a violation if a fixed variant or the product did not pass, unknown if a broken variant was not caught,
// otherwise a pass.
func (pairs Pairs) Outcome() verify.Outcome {
	outcome := verify.Pass
	for _, p := range pairs {
		switch {
		case !p.right():
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
		Title: "The published faults, each broken, fixed and as it runs here", Translated: true,
		Word: strings.ToUpper(string(pairs.Outcome())),
	}
	table := report.NewTable("", "broken", "fixed", "as it runs here", "observed with the fault")
	shown := 0
	for _, p := range pairs {
		broken, fixed, here := string(p.Broken.Verdict), string(p.Fixed.Verdict), string(p.Here.Verdict)
		ok, seen := p.Shown() && p.right(), p.Broken.Sentence
		if ok {
			shown++
		}
		switch {
		case p.Kind == "time":
			rate := func(r Run) string { return report.PerS(r.OrdersPerS) + " orders/s" + report.Unless(r.Verdict) }
			broken, fixed, here = rate(p.Broken), rate(p.Fixed), rate(p.Here)
			seen = fmt.Sprintf("%.1f times as many orders without it", p.Fixed.OrdersPerS/max(p.Broken.OrdersPerS, 0.1))
		case !p.Shown():
			broken = "**not caught this time**"
		}
		if p.Broken.Seed != pairs[0].Broken.Seed {
			seen += fmt.Sprintf(" (seed %d)", p.Broken.Seed)
		}
		table.Add(!ok, p.Letter, broken, fixed, here, strings.TrimSpace(seen))
	}
	if len(pairs) > 0 {
		s.Sentence = fmt.Sprintf("%d of %d faults go wrong broken, and right fixed and here", shown, len(pairs))
		s.Facts = []report.Fact{{Name: "Seed", Value: fmt.Sprint(pairs[0].Broken.Seed)}}
		says := fmt.Sprintf("%s, seed %d.", s.Sentence, pairs[0].Broken.Seed)
		s.Add(report.Part{Title: "Every fault", Says: says, Table: table})
	}
	for _, p := range pairs {
		for _, of := range p.sides() {
			part := (*of.scene).Part(fmt.Sprint(p.Letter, ", ", of.side))
			part.Detail = true
			s.Add(part)
		}
	}
	return s
}
