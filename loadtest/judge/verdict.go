// Package judge finds out whether a shop sells more than it has, makes two orders of one click, forgets an order that
// it acknowledged, or answers two things about one order. It knows the shop only by its user's file, package shop.
// Judge is a pure function of the calls, their answers and the books.
//
//	result, err := judge.Run(ctx, judge.Config{File: file})
package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"orderstock/loadtest/judge/shop"
	"orderstock/loadtest/verify"
)

// Violation is an invariant that does not hold.
type Violation struct {
	Invariant string `json:"invariant"`
	Says      string `json:"says"`
	Count     int    `json:"count"`
	// Examples are the first few.
	Examples []Example `json:"examples"`
}

// Example is one violation that can be followed: all calls of its key, and the rows.
type Example struct {
	Text string `json:"text"`
	Key  string `json:"key,omitempty"`
	// Basket has the products and pieces of the order.
	Basket string   `json:"basket,omitempty"`
	Calls  []Call   `json:"calls,omitempty"`
	Rows   []string `json:"rows,omitempty"`
	// Met is a call of another order at the same time, or nil.
	Met *Met `json:"met,omitempty"`
	// Commands sends the requests that met again, by curl and at the same time, without their secrets; "" for none.
	Commands string `json:"commands,omitempty"`
	// Output is the end of the service's output.
	Output []string `json:"output,omitempty"`
}

// Unchecked is an invariant that could not be judged.
type Unchecked struct {
	Invariant string `json:"invariant"`
	// Why it could not be judged: mostly, a part of the file that is not there.
	Why string `json:"why"`
}

// Verdict is the judgement on a phase.
type Verdict struct {
	Outcome verify.Outcome `json:"verdict"`
	// Orders were to be sent. Served is how many were accepted, rejected or are pending; the rest is unknown.
	Orders   int `json:"orders"`
	Served   int `json:"served"`
	Accepted int `json:"accepted"`
	Rejected int `json:"rejected"`
	Pending  int `json:"pending"`
	Unknown  int `json:"unknown"`
	// Killed counts the unknown ones with a call that ended while the judge killed the service.
	Killed int `json:"killed,omitempty"`
	// Cancelled counts the accepted and pending orders that were cancelled for sure.
	Cancelled int `json:"cancelled,omitempty"`
	// Checked names the invariants that could be judged, and Unchecked the others.
	Checked    []string    `json:"checked"`
	Unchecked  []Unchecked `json:"unchecked,omitempty"`
	Violations []Violation `json:"violations,omitempty"`
	// Notes are worth a look, and change nothing about the outcome.
	Notes []string `json:"notes,omitempty"`
	// Reasons say why the outcome is unknown.
	Reasons []string `json:"reasons,omitempty"`
}

// Loud returns a sentence if the shop served clearly less than it was asked, and the judge's kills are not the reason;
// else "".
func (v *Verdict) Loud() string {
	if v.Orders == 0 || 10*(v.Served+v.Killed) >= 9*v.Orders {
		return ""
	}
	return fmt.Sprintf("SERVED %d OF %d", v.Served, v.Orders)
}

// Violated returns the names of the invariants that do not hold.
func (v *Verdict) Violated() (names []string) {
	for _, found := range v.Violations {
		names = append(names, found.Invariant)
	}
	return names
}

// Judge judges a phase. The time that it takes and the memory grow with the orders and the rows.
func Judge(e Evidence) *Verdict { return e.judge() }

// judge judges the phase; the evidence is indexed then.
func (e *Evidence) judge() *Verdict {
	e.index()
	v := &Verdict{}
	for _, o := range e.Orders {
		if o.Probe {
			continue
		}
		v.Orders++
		if _, sure, _ := o.cancelled(); sure {
			v.Cancelled++
		}
		switch o.end() {
		case shop.Accepted:
			v.Accepted++
		case shop.Rejected:
			v.Rejected++
		case shop.Pending:
			v.Pending++
		default:
			if v.Unknown++; e.killed(o) {
				v.Killed++
			}
		}
	}
	v.Served = v.Orders - v.Unknown
	e.blind = e.After != nil && v.Accepted > 0 && !e.moved() && !e.Moved
	e.unlisted, e.mixed = e.withoutMeaning(), e.mixes()
	if text := e.miscounted(); text != "" {
		v.Outcome, v.Reasons = verify.Unknown, []string{words(e.Noun, text)}
		return v
	}
	for _, i := range invariants {
		if i.name == WithinLimit && e.Limit == 0 { // there is nothing to hold
			continue
		}
		if why := i.missing(e); why != "" {
			v.Unchecked = append(v.Unchecked, Unchecked{i.name, why})
			continue
		}
		v.Checked = append(v.Checked, i.name)
		f := finding{Violation{Invariant: i.name, Says: i.says}}
		if i.check(e, &f); f.Count > 0 {
			for n := range f.Examples {
				if o := e.byKey[shop.ID(f.Examples[n].Key)]; o != nil {
					f.Examples[n].Met, f.Examples[n].Commands = e.meet(o, i.name == WithinLimit)
				}
			}
			for n := range f.Examples {
				example := &f.Examples[n]
				example.Text, example.Basket = words(e.Noun, example.Text), words(e.Noun, example.Basket)
				if example.Met != nil {
					example.Met.Basket = words(e.Noun, example.Met.Basket)
				}
				for i := range example.Rows {
					example.Rows[i] = words(e.Noun, example.Rows[i])
				}
			}
			v.Violations = append(v.Violations, f.Violation)
		}
	}
	if e.blind {
		v.Reasons = append(v.Reasons, "orders were accepted, and neither the stock nor the orders in the books have "+
			"changed: do the queries read the database of this service?")
	}
	if e.mixed {
		v.Reasons = append(v.Reasons, "orders were cancelled, and are in the books like sold ones, as the query of "+
			"books.orders shows no state: add the column, such as status AS state, and list its values under books.sold and "+
			"books.void")
	}
	for _, state := range e.unlisted[:min(len(e.unlisted), samples)] {
		v.Reasons = append(v.Reasons, fmt.Sprintf("orders are in the state %s, which is in none of books.sold and "+
			"books.void: add it to the one that it is", shop.ShowState(state)))
	}
	if more := len(e.unlisted) - samples; more > 0 {
		v.Reasons = append(v.Reasons, fmt.Sprintf("and %d more states are in none of them: is the column state the one "+
			"that it should be?", more))
	}
	v.Reasons = append(v.Reasons, e.shows(v)...)
	v.Outcome = verify.Pass
	if len(v.Reasons) > 0 {
		v.Outcome = verify.Unknown
	}
	if len(v.Violations) > 0 {
		v.Outcome = verify.Violation
	}
	return v
}

// killed reports whether a kill has ended a call of the order.
func (e *Evidence) killed(o *Order) bool {
	return slices.ContainsFunc(e.Kills, func(k Span) bool {
		ended := func(c Call) bool { return c.Failure != "" && c.Sent <= k.To && c.Done >= k.From }
		return slices.ContainsFunc(o.Calls, ended)
	})
}

// shows says what keeps the phase from showing that the shop is right, and notes what else is worth a look.
func (e *Evidence) shows(v *Verdict) (reasons []string) {
	switch {
	case v.Orders == 0:
		return []string{"no order was sent"}
	case 2*v.Served < v.Orders:
		reasons = append(reasons, fmt.Sprintf("most orders have no known end: %s", e.unclear()))
	}
	if halted := e.halted(); len(halted) > 0 {
		text := "a step of then could not be done: " + counted(halted, 3)
		if slices.ContainsFunc(e.Orders, (*Order).leftOpen) {
			text += ". If no answer came, and it may be done: write poll: true to send it again, and under its answers the " +
				"one to a step that is done already, such as {status: 409, contains: already paid, means: accepted}"
		}
		if 2*len(halted) > v.Accepted+v.Pending {
			reasons = append(reasons, "most orders were accepted, and "+text)
		} else {
			v.Notes = append(v.Notes, fmt.Sprintf("of %d orders, %s", len(halted), text))
		}
	}
	if refused := e.uncancelled(); len(refused) > 0 && v.Cancelled == 0 {
		reasons = append(reasons, "no order could be cancelled: "+counted(refused, 3))
	}
	if v.Accepted+v.Pending == 0 {
		return append(reasons, "no order was accepted, so nothing could be shown")
	}
	few := slices.DeleteFunc(e.products(), func(p string) bool {
		return e.sum(p, shop.Accepted, shop.Pending, shop.Rejected, shop.Unknown) > e.Stock[p]
	})
	void := slices.ContainsFunc(e.added, (*entry).void)
	if n := len(few); n > 0 && n < len(e.Stock) {
		others := ""
		if n > 1 {
			others = fmt.Sprintf(", and of %d more,", n-1)
		}
		v.Notes = append(v.Notes, words(e.Noun, fmt.Sprintf("of product %s%s no more was ordered than there is, so it "+
			"could not show whether the shop oversells there: give more --orders, more baskets, or less stock", few[0], others)))
	}
	switch {
	case len(few) == len(e.Stock):
		text := "no more was ordered than there is, so it could not show whether the shop oversells: "
		if v.Unknown > 0 {
			text += e.unclear()
		} else {
			text += "give more --orders, or less stock"
		}
		reasons = append(reasons, text)
	case v.Rejected > 0 && e.unsold() != "":
		reasons = append(reasons, e.unsold())
	case v.Rejected == 0 && !void && !slices.Contains(v.Violated(), NotOversold):
		text := "more was ordered than there is, nothing was rejected, and nothing was accepted too much"
		if v.Unknown > 0 {
			text += ": is the refusal under answers? " + e.unclear()
		}
		reasons = append(reasons, text)
	}
	return reasons
}

// unsold says which pieces no order holds, if orders may be rejected for another reason than a short stock, and none of
// the products became short; else it returns "".
func (e *Evidence) unsold() (text string) {
	if e.Limit == 0 && !e.Reserved {
		return ""
	}
	most := map[string]shop.Pieces{} // of one order
	for _, o := range e.Orders {
		for _, it := range o.Basket {
			most[it.Product] = max(most[it.Product], it.Pieces)
		}
	}
	for _, p := range e.products() {
		left := e.Stock[p] - e.sum(p, shop.Accepted, shop.Pending, shop.Unknown)
		switch {
		case most[p] == 0:
		case left < most[p]:
			return ""
		case text == "":
			text = words(e.Noun, fmt.Sprintf("%s of %s pieces of product %s were not sold, so it could not show whether the "+
				"shop oversells: ", left, e.Stock[p], p))
		}
	}
	if text != "" && e.Limit > 0 {
		return text + "does the shop allow a buyer less than limit: says?"
	}
	if text != "" {
		return text + "do carts keep pieces that nobody orders?"
	}
	return ""
}

// halted says of each accepted order whose steps after it could not be done why.
func (e *Evidence) halted() (texts []string) {
	for _, o := range e.Orders {
		if _, sure, _ := o.cancelled(); o.Halted != "" && !sure {
			texts = append(texts, o.Halted)
		}
	}
	return texts
}

// uncancelled describes the calls that cancelled nothing.
func (e *Evidence) uncancelled() (texts []string) {
	for _, o := range e.Orders {
		for _, c := range o.Calls {
			if c.Kind == Cancel && c.Means != shop.Cancelled {
				texts = append(texts, strings.TrimSpace(cmp.Or(c.Failure, fmt.Sprintf("%d %s", c.Status, cut(c.Body, 100)))))
			}
		}
	}
	return texts
}

// unclear describes the answers that could not be read.
func (e *Evidence) unclear() string {
	var texts []string
	for _, o := range e.Orders {
		if o.end() != shop.Unknown || o.Probe {
			continue
		}
		text := "not sent"
		if n := len(o.Calls); n > 0 {
			c := o.Calls[n-1] // it has no step after it
			if text = c.Failure; text == "" {
				text = fmt.Sprintf("%d %s", c.Status, cut(c.Body, 100))
			}
			if c.Note != "" {
				text += " (" + c.Note + ")"
			}
			if c.Kind == Buyer {
				text = "a step of the buyer failed: " + text
			}
		}
		texts = append(texts, strings.TrimSpace(text))
	}
	return counted(texts, 3)
}

func cut(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// withoutMeaning returns the states of orders in the books that are in neither list, and are not known to be passing:
// none was seen to leave it, and orders with an answer for good are in it.
func (e *Evidence) withoutMeaning() (states []string) {
	anySold := slices.ContainsFunc(e.added, func(en *entry) bool { return en.has[sold] })
	seen := map[string]bool{}
	for _, en := range e.added {
		for _, row := range en.rows {
			if e.class(row.State) != open || e.Passing[row.State] || seen[row.State] {
				continue
			}
			final := en.order != nil && (en.order.any(shop.Accepted) || en.order.any(shop.Rejected))
			if final || !anySold {
				seen[row.State] = true
				states = append(states, row.State)
			}
		}
	}
	return states
}
