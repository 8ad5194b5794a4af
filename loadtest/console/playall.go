package console

import (
	"context"
	"fmt"
	"strings"

	"orderstock/loadtest/catalogue"
	"orderstock/loadtest/report"
	"orderstock/loadtest/verify"
)

// Played is the outcome of one variant of a published fault.
type Played struct {
	Outcome    verify.Outcome `json:"outcome"`
	Seed       string         `json:"seed"`
	Attempt    int            `json:"attempt"` // of up to three
	OrdersPerS float64        `json:"orders_per_s"`
	Says       string         `json:"says"` // the page's headline
}

// Pair is the outcome of both variants of a published fault.
type Pair struct {
	Letter string `json:"letter"`
	Title  string `json:"title"`
	Kind   string `json:"kind"` // "books" or "time"
	Broken Played `json:"broken"`
	Fixed  Played `json:"fixed"`
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
	return p.Broken.Outcome == verify.Violation
}

// Judge returns the outcome of a tour: a violation if a fixed variant did not
// pass, unknown if a broken one was not caught, otherwise a pass.
func Judge(pairs []Pair) verify.Outcome {
	outcome := verify.Pass
	for _, p := range pairs {
		switch {
		case p.Fixed.Outcome != verify.Pass:
			return verify.Violation
		case !p.Shown():
			outcome = verify.Unknown
		}
	}
	return outcome
}

// PlayBoth plays the broken and the fixed variant of a published fault, one after the other, with that first seed; ""
// is the default. Run must be running.
func (c *Console) PlayBoth(ctx context.Context, letter, seed string) (Pair, error) {
	f, err := catalogue.Find(letter)
	if err != nil {
		return Pair{}, err
	}
	pair := Pair{Letter: f.Letter, Title: f.Title, Kind: f.Kind()}
	if pair.Broken, err = c.playOne(ctx, f.Letter, catalogue.Broken, seed); err != nil {
		return pair, fmt.Errorf("play %s, broken: %w", f.Letter, err)
	}
	if pair.Fixed, err = c.playOne(ctx, f.Letter, catalogue.Fixed, seed); err != nil {
		return pair, fmt.Errorf("play %s, fixed: %w", f.Letter, err)
	}
	return pair, nil
}

func (c *Console) playOne(ctx context.Context, letter string, v catalogue.Side, seed string) (Played, error) {
	if _, err := c.Play(letter, v, seed); err != nil {
		return Played{}, err
	}
	r, err := c.Await(ctx)
	if err != nil {
		return Played{}, err
	}
	return Played{
		Outcome: r.Verdict.Outcome, Seed: r.Row.Seed, Attempt: r.attempt, OrdersPerS: r.Verdict.OrdersPerS,
		Says: r.Hero.Sentence,
	}, nil
}

// Tour is the outcome of published faults, one after the other.
type Tour []Pair

// Whole reports whether the tour has all published faults.
func (pairs Tour) Whole() bool { return len(pairs) >= len(catalogue.Letters()) }

// Sheet describes the tour, with a row for each fault.
func (pairs Tour) Sheet() report.Sheet {
	s := report.Sheet{
		Title: "The published faults, each broken and fixed", Word: strings.ToUpper(string(Judge(pairs))),
	}
	table := report.NewTable("", "broken", "fixed", "observed with the fault")
	shown := 0
	for _, p := range pairs {
		broken, fixed, seen := string(p.Broken.Outcome), string(p.Fixed.Outcome), invariantNames.Replace(p.Broken.Says)
		ok := p.Shown() && p.Fixed.Outcome == verify.Pass
		if ok {
			shown++
		}
		switch {
		case p.Kind == "time":
			broken = fmt.Sprintf("%.0f orders/s", p.Broken.OrdersPerS)
			fixed = fmt.Sprintf("%.0f orders/s%s", p.Fixed.OrdersPerS, report.Unless(p.Fixed.Outcome))
			seen = ""
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
	return s
}

// invariantNames replaces an invariant's sentence by its name.
var invariantNames = func() *strings.Replacer {
	var pairs []string
	for _, name := range verify.Invariants() {
		pairs = append(pairs, verify.Says(name), "`"+name+"`")
	}
	return strings.NewReplacer(pairs...)
}()
