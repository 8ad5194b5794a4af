package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"orderstock/loadtest/judge/shop"
	"orderstock/loadtest/lanes"
)

// callsShown bounds the calls of an order in a scene.
const callsShown = 5

// scene shows the example's calls side by side, with the answer that violates the invariant: the calls of the order, of
// which one that overlaps another has its own lane, and the calls of the order that they met. It is nil without calls.
func (e *Example) scene(invariant string) *lanes.Scene {
	if len(e.Calls) == 0 {
		return nil
	}
	calls, wrong := slices.Clone(e.Calls), e.wrong(invariant)
	if len(calls) > callsShown { // the first ones, and the one that is wrong
		calls = append(calls[:callsShown-1], calls[max(wrong, callsShown-1)])
		wrong = min(wrong, callsShown-1)
	}
	b := sceneBuilder{Scene: lanes.Scene{Books: strings.Join(e.Rows[:min(len(e.Rows), linesShown)], "; ")}}
	var free []time.Duration // when the last call of each lane had ended
	for i, c := range calls {
		lane := slices.IndexFunc(free, func(at time.Duration) bool { return at <= c.Sent })
		if lane < 0 {
			lane = len(free)
			free = append(free, 0)
			name := lanes.Lane{Process: "a buyer", Order: "key " + e.Key}
			if lane > 0 {
				name = lanes.Lane{Process: "the same buyer", Order: "at the same time"}
			}
			b.Lanes = append(b.Lanes, name)
		}
		free[lane] = c.Done
		why := ""
		if i == wrong {
			why = e.Text
		}
		b.add(c, lane, e.Basket, why)
	}
	if e.Met != nil {
		name := lanes.Lane{Process: "another buyer", Order: "key " + e.Met.Key}
		if invariant == WithinLimit {
			name.Process = "the same buyer"
		}
		b.Lanes = append(b.Lanes, name)
		for _, c := range e.Met.Calls[:min(len(e.Met.Calls), callsShown)] {
			b.add(c, len(free), e.Met.Basket, "")
		}
	}
	return b.scene()
}

// sceneBuilder collects the steps of a scene.
type sceneBuilder struct {
	lanes.Scene
	at []time.Duration // of each step
}

// add adds the steps of a call. Its answer is wrong if there is a reason why.
func (b *sceneBuilder) add(c Call, lane int, basket, why string) {
	b.step(c.Sent, lanes.Step{Lane: lane, Text: c.does(basket), To: -1})
	b.step(c.Done, lanes.Step{Lane: lane, Text: c.hears(), Wrong: why, To: -1})
}

func (b *sceneBuilder) step(at time.Duration, s lanes.Step) {
	i, _ := slices.BinarySearchFunc(b.at, at+1, cmp.Compare[time.Duration])
	b.at, b.Steps = slices.Insert(b.at, i, at), slices.Insert(b.Steps, i, s)
}

// scene returns the scene, whose times count from its first step.
func (b *sceneBuilder) scene() *lanes.Scene {
	for i := range b.Steps {
		b.Steps[i].AtMS = ms(b.at[i] - b.at[0])
	}
	return &b.Scene
}

// does describes a call as the buyer's action.
func (c Call) does(basket string) string {
	switch c.Kind {
	case Click:
		return "clicks twice: the same bytes"
	case Repeat, Late:
		return "repeats the order: the same bytes"
	case Probe:
		return "orders " + basket + ", alone, after the others"
	case Buyer:
		return "is about to order " + basket
	case Then, Race:
		return fmt.Sprintf("does step %d after the order", c.Step)
	case Cancel:
		return "cancels the order"
	}
	return "orders " + basket
}

// hears describes the answer to a call.
func (c Call) hears() string {
	switch {
	case c.Failure != "":
		return "hears nothing: " + c.Failure
	case c.Kind == Lost:
		return "hears nothing: the answer was lost on the way"
	case c.Means == shop.Unknown:
		return fmt.Sprintf("hears %d", c.Status)
	case c.Order != "":
		return fmt.Sprintf("hears %d: %s, order %s", c.Status, c.Means, c.Order)
	}
	return fmt.Sprintf("hears %d: %s", c.Status, c.Means)
}

// wrong returns the index of the call whose answer violates the invariant, or -1 if it is not known.
func (e *Example) wrong(invariant string) int {
	at := func(is func(Call) bool) int { return slices.IndexFunc(e.Calls, is) }
	means := func(wanted shop.Means) int { return at(func(c Call) bool { return c.Means == wanted }) }
	switch invariant {
	case StockMatchesOrders: // any order may be the reason
		return -1
	case OneOrderPerKey:
		first := at(func(c Call) bool { return c.Order != "" })
		return max(first, at(func(c Call) bool { return c.Order != "" && c.Order != e.Calls[first].Order }))
	case OneAnswerPerKey:
		return max(means(shop.Accepted), means(shop.Rejected))
	case RejectedOnlyWhenShort, RejectedIsNotSold:
		return means(shop.Rejected)
	case CancelledIsNotSold:
		return means(shop.Cancelled)
	case KeepsServing:
		return len(e.Calls) - 1
	}
	if i := means(shop.Accepted); i >= 0 {
		return i
	}
	return means(shop.Pending)
}
