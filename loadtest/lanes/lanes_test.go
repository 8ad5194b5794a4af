package lanes

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"orderstock/loadtest/faultpoint"
	"orderstock/loadtest/history"
	"orderstock/loadtest/report"
	"orderstock/pkg/operation"
)

// event is an event of the first product after that many milliseconds.
func event(ms int, process, flag, point string, v faultpoint.Values) faultpoint.Event {
	step, when, _ := strings.Cut(point, "/")
	v.Flag, v.Goods = flag, 1
	return faultpoint.Event{
		At: time.Duration(ms) * time.Millisecond, Process: process, Step: faultpoint.Step(step),
		When: faultpoint.When(when), Values: v,
	}
}

// deduction is all events of a deduction that reads a level and writes another: when it took the lock, gave it back,
// read, wrote and committed.
func deduction(process, flag string, read, written int64, took, gave, reads, writes, commits int) []faultpoint.Event {
	token := fmt.Sprintf("%016x%016x", took, 0)
	return []faultpoint.Event{
		event(took-1, process, flag, "deduct/before", faultpoint.Values{}),
		event(took-1, process, flag, "acquire-lock/before", faultpoint.Values{}),
		event(took, process, flag, "acquire-lock/after", faultpoint.Values{Token: token}),
		event(gave, process, flag, "release-lock/before", faultpoint.Values{Token: token}),
		event(reads, process, flag, "read-stock/after", faultpoint.Values{Read: &read}),
		event(writes, process, flag, "update-stock/after", faultpoint.Values{Written: &written, Rows: new(int64(1))}),
		event(commits, process, flag, "commit/after", faultpoint.Values{}),
		event(commits+1, process, flag, "deduct/after", faultpoint.Values{Said: "DONE"}),
	}
}

// TestTwoReaders picks the two orders that read the same level while the first had not committed, whatever the order of
// the events, and no pair that came one after the other.
func TestTwoReaders(t *testing.T) {
	r := &Run{Broken: true, Books: "9 in", History: &history.History{Goods: []history.Goods{{ID: 1}}}}
	r.Events = append(r.Events, deduction("stock-2", "777144", 7, 6, 41, 42, 50, 70, 80)...)
	r.Events = append(r.Events, deduction("stock-1", "777639", 7, 5, 30, 31, 45, 60, 65)...)
	r.Events = append(r.Events, deduction("stock-1", "777000", 8, 7, 1, 20, 2, 3, 4)...)
	s := TwoReaders(r)
	if s == nil {
		t.Fatal("no two readers are found")
	}
	var text strings.Builder
	s.Text(&text)
	const want = `         stock-1, order …7639               stock-2, order …7144
0.0 ms   takes the lock, token 30
1.0 ms   gives the lock back ──►
11.0 ms                                     takes the lock, token 41
12.0 ms                                     gives the lock back
15.0 ms  reads 7 pieces
20.0 ms                                     reads 7 pieces
                                            ✗ order …7639 has not committed
35.0 ms  writes 5, commits
36.0 ms  answers: done
50.0 ms                                     writes 6, commits
                                            ✗ 6 overwrites 5: the sale of
                                              order …7639 is forgotten
51.0 ms                                     answers: done
         books: 9 in
`
	got := strings.ReplaceAll(text.String(), "10.0 ms                                     asks for the lock\n", "")
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	for _, line := range strings.Split(s.Markdown(), "\n") {
		if strings.HasPrefix(line, "|") && strings.Count(line, "|") != 4 {
			t.Errorf("a row of the table has other columns: %s", line)
		}
	}

	// The right order: the second one reads after the first has committed.
	r = &Run{Books: "9 in", History: r.History}
	r.Events = append(r.Events, deduction("stock-1", "777639", 7, 5, 30, 70, 45, 60, 65)...)
	r.Events = append(r.Events, deduction("stock-2", "777144", 5, 4, 81, 99, 85, 90, 95)...)
	r.Events[8].At, r.Events[9].At = 50*time.Millisecond, 51*time.Millisecond // it asks for the lock
	s = TwoReaders(r)
	if s == nil || !strings.Contains(fmt.Sprint(s.Steps), "the first has committed") ||
		strings.Contains(fmt.Sprint(s.Steps), "forgotten") {
		t.Errorf("of two holders in turn, %+v is shown", s)
	}
}

// TestNamesAreSortedByAPiece says by which piece of its name a node is before the holder's.
func TestNamesAreSortedByAPiece(t *testing.T) {
	r := &Run{Broken: true, Books: "9 in", History: &history.History{Goods: []history.Goods{{ID: 1}}}}
	r.Events = append(deduction("stock-1", "1", 7, 6, 10, 90, 20, 70, 80),
		event(9, "stock-1", "1", "queue/after", faultpoint.Values{Node: "_c_11111111-9a3f-4-5-6-lock-0000000000"}))
	r.Events = append(r.Events, deduction("stock-2", "2", 7, 5, 30, 95, 40, 91, 92)...)
	r.Events = append(r.Events, event(30, "stock-2", "2", "queue/after",
		faultpoint.Values{Node: "_c_99999999-7ffe-4-5-6-lock-0000000013"}))
	s := TwoReaders(r)
	if got := fmt.Sprint(steps(s)); !strings.Contains(got, "1 is first in the queue: …13 "+
		"✗ sorted by 7ffe in its name: before the holder's 9a3f") {
		t.Errorf("of a node that is sorted by a piece of its name, %s is shown", got)
	}
	for _, step := range s.Steps {
		if step.Lane == 0 && strings.Contains(step.Text, "s the lock, ") && step.Weight < 9 {
			t.Errorf("the stage may leave out the holder: %+v", step)
		}
	}
}

// TestFirstChild: the sleeper does not know that its lock is another one's.
func TestFirstChild(t *testing.T) {
	queued := func(ms int, flag, node string) faultpoint.Event {
		return event(ms, "stock-"+flag, flag, "queue/after", faultpoint.Values{Node: node})
	}
	deletes := event(60, "stock-1", "1", "delete-node/before", faultpoint.Values{Node: "a-1", Deleted: "b-2"})
	deleted := deletes
	deleted.When, deleted.At = faultpoint.After, 61*time.Millisecond
	r := &Run{Broken: true, History: &history.History{Goods: []history.Goods{{ID: 1}}}}
	r.Events = append(deduction("stock-1", "1", 9, 8, 1, 55, 2, 3, 4), queued(1, "1", "a-1"), deletes, deleted)
	r.Events[7].At = 70 * time.Millisecond // its end
	r.Events = append(r.Events, deduction("stock-2", "2", 8, 7, 50, 99, 51, 90, 91)...)
	r.Events = append(r.Events, queued(50, "2", "b-2"))
	r.Events = append(r.Events, deduction("stock-3", "3", 8, 6, 65, 80, 66, 67, 68)...)
	got := fmt.Sprint(steps(FirstChild(r)))
	for _, want := range []string{
		"1 takes the lock, token 50: the sleeper's session is over",
		"0 gives the lock back: it has lost it, and does not know",
		"0 deletes …2 ✗ that is the node of order …2",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
}

// TestSceneHasTwelveSteps: the lightest are left out, never a marked one, and the text keeps to its width.
func TestSceneHasTwelveSteps(t *testing.T) {
	r := &Run{History: &history.History{Goods: []history.Goods{{ID: 1}}}}
	all := deduction("stock-1", "777639", 7, 5, 30, 70, 45, 60, 65)
	for i := range 30 {
		all = append(all, event(31+i, "stock-1", "777639", "queue/after",
			faultpoint.Values{Node: fmt.Sprintf("a-%010d", i), Behind: strings.Repeat("long", 30) + "-0000000001"}))
	}
	r.Events = all
	r.prepare()
	d := r.path("777639")
	d.wrongAt("stock", "queue/after", strings.Repeat("because of this ", 20))
	s := d.end("a book")
	if len(s.Steps) != mostSteps || !strings.Contains(fmt.Sprint(s.Steps), "because") {
		t.Errorf("%d steps: %+v", len(s.Steps), s.Steps)
	}
	var text strings.Builder
	s.Text(&text)
	for line := range strings.Lines(text.String()) {
		if utf8.RuneCountInString(line) > 81 {
			t.Errorf("a line is too long: %s", line)
		}
	}
}

// TestLevelsMatterLeast to one order: no other one changes them meanwhile.
func TestLevelsMatterLeast(t *testing.T) {
	r := &Run{History: &history.History{Goods: []history.Goods{{ID: 1}}}, Events: []faultpoint.Event{
		event(1, "order-1", "1", "insert-order/after", faultpoint.Values{Said: "true"}),
		event(9, "stock-1", "1", "read-stock/after", faultpoint.Values{Read: new(int64(7))}),
		event(10, "stock-1", "1", "release-lock/before", faultpoint.Values{}),
	}}
	for i := range 11 {
		process := []string{"stock-1", "order-1"}[i%2]
		point := map[string]string{"stock-1": "acquire-lock/after", "order-1": "call-stock/before"}[process]
		r.Events = append(r.Events, event(20+i, process, "1", point, faultpoint.Values{}))
	}
	got := fmt.Sprint(steps(r.path("1").end("")))
	if !strings.Contains(got, "writes the order") || strings.Contains(got, "reads") || strings.Contains(got, "back") {
		t.Errorf("of an order, %s is shown", got)
	}
}

// TestHoldIsSaid, also if there is no place for its step: at the next one of its lane.
func TestHoldIsSaid(t *testing.T) {
	held := func(ms int, process string) faultpoint.Event {
		e := event(ms, process, "1", "update-stock/before", faultpoint.Values{})
		e.Action, e.Held = faultpoint.Meet, 20*time.Millisecond
		return e
	}
	for _, test := range []struct {
		others int // steps of about the same weight
		want   []string
	}{
		{0, []string{
			"0 stands still for 20 ms ‖ held there by the experiment, so that it happens each time",
			"1 stands still for 20 ms ‖ held there by the experiment, too",
		}},
		{10, []string{
			"0 writes 6 ‖ held until then by the experiment, so that it happens each time",
			"1 writes 6 ‖ held until then by the experiment, too",
		}},
	} {
		r := &Run{History: &history.History{Goods: []history.Goods{{ID: 1}}}, Events: []faultpoint.Event{
			held(20, "stock-1"), held(21, "stock-2"),
		}}
		for i := range test.others {
			r.Events = append(r.Events, event(i, "stock-1", "1", "acquire-lock/after", faultpoint.Values{}),
				event(i, "stock-2", "1", "acquire-lock/after", faultpoint.Values{}))
		}
		for i, process := range []string{"stock-1", "stock-2"} {
			wrote := faultpoint.Values{Written: new(int64(6))}
			r.Events = append(r.Events, event(50+i, process, "1", "update-stock/after", wrote))
		}
		got := steps(r.path("1").end(""))
		for _, want := range test.want {
			if !slices.Contains(got, want) {
				t.Errorf("of %d more steps, no step %q in\n%s", test.others, want, strings.Join(got, "\n"))
			}
		}
	}
}

// steps returns the lines of a scene's steps, each after the number of its lane.
func steps(s *Scene) (lines []string) {
	if s == nil {
		return nil
	}
	for _, step := range s.Steps {
		lines = append(lines, fmt.Sprint(step.Lane, " ", strings.Join(step.Lines(), " ")))
	}
	return lines
}

// TestSecondLook: a waiter whose predecessor has given up looks again, or takes the lock beside its holder.
func TestSecondLook(t *testing.T) {
	queued := func(ms int, flag, point, node, behind string) faultpoint.Event {
		return event(ms, "stock-2", flag, point, faultpoint.Values{Node: node, Behind: behind})
	}
	before := []faultpoint.Event{
		event(1, "stock-1", "1", "queue/after", faultpoint.Values{Node: "a-1"}),
		event(2, "stock-2", "2", "deduct/before", faultpoint.Values{}),
		event(2, "stock-2", "2", "acquire-lock/before", faultpoint.Values{}),
		queued(3, "2", "queue/after", "b-2", "a-1"),
		event(4, "stock-2", "2", "delete-node/before", faultpoint.Values{Node: "b-2", Deleted: "b-2"}),
		event(5, "stock-2", "2", "give-up/after", faultpoint.Values{Error: "deadline"}),
		event(6, "stock-2", "2", "deduct/after", faultpoint.Values{}),
		queued(2, "3", "queue/after", "c-3", "b-2"),
		queued(4, "3", "woken/after", "c-3", "b-2"),
	}
	h := &history.History{Goods: []history.Goods{{ID: 1}}}
	// Fixed: it looks, and waits for the holder.
	r := &Run{History: h, Events: append(deduction("stock-1", "1", 7, 6, 1, 20, 10, 12, 15), before...)}
	r.Events = append(r.Events, deduction("stock-2", "3", 6, 5, 21, 30, 22, 23, 24)...)
	r.Events[len(r.Events)-8].At, r.Events[len(r.Events)-7].At = time.Millisecond, time.Millisecond
	r.Events = append(r.Events, queued(5, "3", "queue/after", "c-3", "a-1"), queued(20, "3", "woken/after", "c-3", "a-1"))
	got := steps(Vanished(r))
	for _, want := range []string{
		"1 deletes its node …2 ✓ it gives up, and leaves no node behind",
		"2 …3 waits behind …1 ✓ it looks again, and order …1 is before it",
	} {
		if !slices.Contains(got, want) || strings.Contains(fmt.Sprint(got), "✗") {
			t.Errorf("no step %q in\n%s", want, strings.Join(got, "\n"))
		}
	}
	if woken := Vanished(r).Steps[3]; woken.Text != "wakes up: …2 is gone" || woken.Weight != 9 {
		t.Errorf("it looks again, and why may be left out: %+v", woken)
	}
	// Broken: it takes the lock at once.
	r = &Run{
		Broken: true, History: h, Events: append(deduction("stock-1", "1", 7, 6, 1, 20, 10, 12, 15), before...),
	}
	r.Events = append(r.Events, deduction("stock-2", "3", 7, 5, 5, 30, 11, 23, 24)...)
	r.Events[len(r.Events)-8].At, r.Events[len(r.Events)-7].At = time.Millisecond, time.Millisecond
	s := Vanished(r)
	if !slices.ContainsFunc(s.Steps, func(st Step) bool {
		return st.Lane == 0 && st.Weight == 9 && strings.HasPrefix(st.Text, "takes the lock")
	}) {
		t.Errorf("the stage may leave out that another one holds the lock: %+v", s.Steps)
	}
	if got := fmt.Sprint(steps(s)); !strings.Contains(got, "✗ order …1 still holds it") ||
		!strings.Contains(got, "is forgotten") || !strings.Contains(got, "1 deletes its node …2: it gives up waiting") {
		t.Errorf("two holders are not shown: %s", got)
	}
}

// TestTwoReadersInTheirOrder: the second holder of a lock may read its level before the first has. Two that read in the
// order in which they took the lock are easier to follow.
func TestTwoReadersInTheirOrder(t *testing.T) {
	crossed := slices.Concat(
		deduction("stock-1", "1", 9, 8, 2, 20, 5, 8, 9), deduction("stock-2", "2", 9, 7, 3, 21, 4, 10, 12),
	)
	plain := slices.Concat(
		deduction("stock-1", "3", 7, 6, 32, 50, 34, 38, 39), deduction("stock-2", "4", 7, 5, 33, 51, 35, 40, 42),
	)
	for want, events := range map[string][]faultpoint.Event{
		"[{stock-1 order …3} {stock-2 order …4}]": slices.Concat(crossed, plain),
		"[{stock-2 order …2} {stock-1 order …1}]": crossed, // there are no others
	} {
		wantLanes(t, TwoReaders, events, want, "is forgotten")
	}
}

// wantLanes looks for the lanes, and for a text in the steps, of the scene of a broken run's events.
func wantLanes(t *testing.T, pick func(*Run) *Scene, events []faultpoint.Event, lanes, text string) {
	t.Helper()
	s := pick(&Run{Broken: true, History: &history.History{Goods: []history.Goods{{ID: 1}}}, Events: events})
	if got := fmt.Sprint(s.Lanes); got != lanes || !strings.Contains(fmt.Sprint(steps(s)), text) {
		t.Errorf("%s are shown, want %s, with %q: %s", got, lanes, text, steps(s))
	}
}

// TestVanishedBeforeItsHolder: a waiter that wakes up late finds another holder than the one of the time when its
// predecessor gave up. Such a pair is shown if there is no other, and never without the one that gave up.
func TestVanishedBeforeItsHolder(t *testing.T) {
	// trio is a holder, a waiter that gives up, and one that takes the lock for this reason.
	trio := func(first int, took, left, woken int) []faultpoint.Event {
		flag := func(n int) string { return fmt.Sprint(first + n) }
		node := func(n int) string { return fmt.Sprintf("n-%d", first+n) }
		waits := func(ms, n int, point string) faultpoint.Event {
			return event(ms, "stock-2", flag(n), point, faultpoint.Values{Node: node(n), Behind: node(n - 1)})
		}
		own := faultpoint.Values{Node: node(1), Deleted: node(1)}
		holds := deduction("stock-1", flag(0), 7, 6, took, took+40, took+30, took+35, took+38)
		wakes := deduction("stock-2", flag(2), 7, 5, woken+2, woken+50, took+31, took+36, took+39)
		return slices.Concat(holds, wakes, []faultpoint.Event{
			event(left-8, "stock-2", flag(1), "deduct/before", faultpoint.Values{}),
			waits(left-6, 1, "queue/after"), waits(woken+1, 2, "queue/after"),
			event(left, "stock-2", flag(1), "delete-node/before", own),
			event(left+1, "stock-2", flag(1), "give-up/after", faultpoint.Values{Error: "deadline"}),
			waits(woken+1, 2, "woken/after"),
		})
	}
	late, soon := trio(1, 20, 10, 22), trio(5, 120, 125, 127)
	const gives = "deletes its node …%d: it gives up waiting"
	for want, events := range map[string][]faultpoint.Event{
		"order …5 0 takes the lock, token 120 1 " + fmt.Sprintf(gives, 6):                     slices.Concat(late, soon),
		"order …1 1 " + fmt.Sprintf(gives, 2) + " 1 gives up waiting 0 takes the lock, token": late,
	} {
		r := &Run{Broken: true, History: &history.History{Goods: []history.Goods{{ID: 1}}}, Events: events}
		s := Vanished(r)
		if got := s.Lanes[0].Order + " " + strings.Join(steps(s), " "); !strings.Contains(got, want) ||
			!strings.Contains(got, "still holds it") {
			t.Errorf("%s is shown, want %s", got, want)
		}
	}
}

// TestLeftBehind shows a waiter that stood behind another one before that gave up, though one who came later and found
// its node left the queue first.
func TestLeftBehind(t *testing.T) {
	at := func(ms int, flag, point, node, behind string) faultpoint.Event {
		return event(ms, "stock-1", flag, point, faultpoint.Values{Node: node, Behind: behind})
	}
	waiter := func(flag, node, behind string, came, left int) []faultpoint.Event {
		return []faultpoint.Event{
			at(came, flag, "deduct/before", "", ""), at(came, flag, "queue/after", node, behind),
			at(left, flag, "leave-node/after", node, ""), at(left, flag, "give-up/after", "", ""),
			at(left+1, flag, "deduct/after", "", ""),
		}
	}
	late := slices.Concat(waiter("1", "n-1", "n-0", 1, 10), waiter("2", "n-2", "n-1", 20, 30))
	for want, events := range map[string][]faultpoint.Event{
		"[{stock-1 order …3} {stock-1 order …4}]": slices.Concat(
			late, waiter("3", "n-3", "n-9", 21, 40), waiter("4", "n-4", "n-3", 22, 50)),
		"[{stock-1 order …1} {stock-1 order …2}]": late, // there are no others
	} {
		wantLanes(t, LeftBehind, events, want, "nobody serves it")
	}
}

// TestConfirmation shows the order that slept longest of those that were deducted, and none that was refused.
func TestConfirmation(t *testing.T) {
	r := &Run{Broken: true, History: &history.History{Goods: []history.Goods{{ID: 1}}}}
	for flag, o := range map[string]struct {
		said  string
		slept int
	}{"1": {"DONE", 3000}, "2": {"DONE", 3100}, "3": {"REJECTED", 3200}} {
		r.Events = append(r.Events, event(10, "order-1", flag, "call-stock/after", faultpoint.Values{Said: o.said}),
			event(10+o.slept, "order-1", flag, "confirm/before", faultpoint.Values{}),
			event(11+o.slept, "order-1", flag, "confirm/after", faultpoint.Values{Said: o.said}))
	}
	if got := fmt.Sprint(steps(Confirmation(r))); !strings.Contains(got, "0 hears: done") ||
		!strings.Contains(got, "✗ it has slept for 3.1 s") {
		t.Errorf("%s is shown", got)
	}
}

// TestNegative: an order for fewer pieces than none is refused before a step is passed, or adds pieces.
func TestNegative(t *testing.T) {
	r := &Run{
		Books: "9 in", History: &history.History{Goods: []history.Goods{{ID: 1}}},
		Placed: []history.Placed{{
			Process: "order-1", Key: "minus-five", Goods: 1, Num: -5, Sent: time.Millisecond, Done: 2 * time.Millisecond,
			Code: 400,
		}},
		Events: []faultpoint.Event{event(0, "stock-1", "777", "commit/after", faultpoint.Values{})},
	}
	s := Negative(r)
	if got := fmt.Sprint(steps(s)); s == nil || fmt.Sprint(s.Names()) != "[buyer order-1]" ||
		got != "[0 orders -5 0 hears: an error, 400 ✓ no order and no row is written]" {
		t.Errorf("of a refused order, %v is shown", s)
	}
	r = &Run{
		Broken: true, History: r.History, Placed: r.Placed, Orders: []Order{{"42", "minus-five", "CONFIRMED"}},
		Flows: []Flow{{"42", 1, 5}},
		Events: []faultpoint.Event{
			event(1, "stock-1", "42", "update-stock/after", faultpoint.Values{Taken: new(int64(-5)), Rows: new(int64(1))}),
		},
	}
	r.Placed[0].Code = 201
	if got := fmt.Sprint(steps(Negative(r))); !strings.Contains(got, "1 adds 5 ✗ nobody brought them") ||
		!strings.Contains(got, "0 hears: confirmed") {
		t.Errorf("of an order that adds pieces, %s is shown", got)
	}
}

// TestLateCommit shows the order that the experiment held, not one before it that only waited for its lock.
func TestLateCommit(t *testing.T) {
	held := event(20, "stock-1", "2", "commit/before", faultpoint.Values{})
	held.Action, held.Held = faultpoint.Delay, 2*time.Second
	r := &Run{
		Broken: true, History: &history.History{Goods: []history.Goods{{ID: 1}}},
		Orders: []Order{{ID: "1", Status: "REJECTED"}, {ID: "2", Status: "REJECTED"}},
		Flows:  []Flow{{"1", 1, -1}, {"2", 1, -1}},
		Events: []faultpoint.Event{
			held,
			event(2021, "stock-1", "2", "commit/after", faultpoint.Values{}),
			event(2030, "stock-2", "1", "acquire-lock/after", faultpoint.Values{}),
			event(2040, "stock-2", "1", "commit/after", faultpoint.Values{}),
		},
	}
	if got := fmt.Sprint(steps(LateCommit(r))); !strings.Contains(got, "stands still for 2.0 s") {
		t.Errorf("the order that was held is not shown: %s", got)
	}
	// On a slow machine, a client hears of its order after the commit. One that heard before is shown.
	other := held
	other.Flag = "3"
	r = &Run{
		Broken: true, History: r.History, Orders: append(r.Orders, Order{ID: "3", Status: "REJECTED"}),
		Flows: append(r.Flows, Flow{"3", 1, -1}),
		Events: append(r.Events, other, event(2021, "stock-1", "3", "commit/after", faultpoint.Values{}),
			event(2030, Client, "2", "hears/", faultpoint.Values{Said: "REJECTED"}),
			event(2010, Client, "3", "hears/", faultpoint.Values{Said: "REJECTED"})),
	}
	if got := fmt.Sprint(steps(LateCommit(r))); !strings.Contains(got, "0 hears: failed 1 commits ✗ the pieces are gone") {
		t.Errorf("of two orders, this is shown: %s", got)
	}
	// As it runs here, the group of the order is held.
	held.Flag = "group-1"
	r = &Run{
		History: r.History, Orders: []Order{{ID: "1", Status: "CONFIRMED"}, {ID: "2", Status: "CONFIRMED"}},
		Events: []faultpoint.Event{
			event(1, "stock-2", "1", "lookup-flow/after", faultpoint.Values{}), // in another process
			event(2, "stock-1", "2", "lookup-flow/after", faultpoint.Values{}),
			event(2, "order-1", "2", "call-stock/before", faultpoint.Values{}),
			event(9, "stock-1", "group-1", "deduct/before", faultpoint.Values{Said: "2"}),
			event(9, "stock-1", "3", "lookup-flow/after", faultpoint.Values{}), // too late for the group
			event(10, "stock-1", "group-1", "update-stock/after", faultpoint.Values{}), held,
			event(1999, "order-1", "3", "call-stock/after", faultpoint.Values{Error: "deadline"}),
			event(2000, "order-1", "1", "call-stock/after", faultpoint.Values{Error: "deadline"}),
			event(2001, "order-1", "2", "call-stock/after",
				faultpoint.Values{Error: "deduct: " + operation.ErrUnknownOutcome.Error()}),
			event(2021, "stock-1", "group-1", "commit/after", faultpoint.Values{}),
			event(2025, "order-1", "2", "call-stock/after", faultpoint.Values{Said: "DONE"}), // a reconciler's
			event(2030, "order-1", "2", "confirm/after", faultpoint.Values{Said: "DONE"}),
		},
	}
	got := fmt.Sprint(steps(LateCommit(r)))
	if !strings.Contains(got, "1 writes the levels 1 stands still for 2.0 s") ||
		!strings.Contains(got, "0 hears: nothing in time ✓ the order stays PENDING 1 commits") ||
		!strings.Contains(got, " 0 hears: done 0 reads the ledger: done ✓ the ledger decides") {
		t.Errorf("of an order whose group was held, %s is shown", got)
	}
}

// TestBasket shows an order that is sold out, not one before it that wants more pieces than there ever were.
func TestBasket(t *testing.T) {
	h := &history.History{Goods: []history.Goods{{ID: 1, Stock: 120}}}
	took := func(ms int, flag string, taken int64, rows int64) faultpoint.Event {
		return event(ms, "stock-1", flag, "update-stock/after", faultpoint.Values{Taken: &taken, Rows: &rows})
	}
	both := func(ms int, flag string, wants int64) []faultpoint.Event {
		return []faultpoint.Event{
			event(ms, "stock-1", flag, "deduct/before", faultpoint.Values{}),
			took(ms+1, flag, 1, 1), took(ms+2, flag, wants, 0),
			event(ms+3, "stock-1", flag, "commit/after", faultpoint.Values{}),
		}
	}
	rejected := []Order{{ID: "1", Status: "REJECTED"}, {ID: "2", Status: "REJECTED"}}
	r := &Run{Broken: true, History: h, Orders: rejected, Events: append(both(0, "1", 2147483245), both(10, "2", 3)...)}
	const shown = "takes 1, takes 3: refused, commits ✗ 1 piece is gone, and the order fails"
	if got := fmt.Sprint(steps(Basket(r))); !strings.Contains(got, shown) {
		t.Errorf("of two refused orders, %s is shown", got)
	}
	twice := slices.Insert(both(0, "1", 3), 1, took(0, "1", 2, 0))
	r = &Run{Broken: true, History: h, Orders: rejected, Events: append(twice, both(10, "2", 3)...)}
	if got := fmt.Sprint(steps(Basket(r))); !strings.Contains(got, "["+"0 "+shown) {
		t.Errorf("of two orders, the one that is refused only at its last product is plainer: %s is shown", got)
	}
	reads := func(ms int, flag string, levels ...int64) (all []faultpoint.Event) {
		all = append(all, event(ms, "stock-1", flag, "deduct/before", faultpoint.Values{}))
		for i, level := range levels {
			all = append(all, event(ms+i, "stock-1", flag, "read-stock/after", faultpoint.Values{Read: &level}))
		}
		return append(all, event(ms+5, "stock-1", flag, "roll-back/before", faultpoint.Values{}))
	}
	r = &Run{History: h, Orders: rejected, Events: append(reads(0, "1", 9, 24), reads(10, "2", 9, 0)...)}
	repeat := event(90, "stock-2", "2", "roll-back/before", faultpoint.Values{}) // of the same order, elsewhere
	r.Events = append(r.Events, repeat)
	r.Events = append(r.Events, event(17, "stock-1", "2", "commit/after", faultpoint.Values{}))
	if got := fmt.Sprint(steps(Basket(r))); got != "[0 reads 9 pieces, 0 pieces 0 rolls back "+
		"0 commits the refusal ✓ nothing is taken]" {
		t.Errorf("of two orders that are rolled back, %s is shown", got)
	}
	short := reads(10, "2", 9, 0)
	short[len(short)-1] = event(17, "stock-1", "2", "commit/after", faultpoint.Values{}) // and no roll-back
	r = &Run{History: h, Orders: rejected, Events: short}
	const refuses = "[0 reads 9 pieces, 0 pieces 0 commits the refusal ✓ nothing is taken]"
	if got := fmt.Sprint(steps(Basket(r))); got != refuses {
		t.Errorf("of an order that is refused at once, %s is shown", got)
	}
}

// TestOrphan shows nobody who finds the order later, and leaves it as it is; but one who settles it.
func TestOrphan(t *testing.T) {
	dies := event(2, "order-2", "1", "insert-order/after", faultpoint.Values{Said: "true"})
	dies.Action = faultpoint.Kill
	r := &Run{
		Broken: true, History: &history.History{Goods: []history.Goods{{ID: 1}}},
		Orders: []Order{{ID: "1", Status: "PENDING"}},
		Events: []faultpoint.Event{
			event(1, Client, "1", "sends/", faultpoint.Values{From: "place"}), dies,
			event(5, Client, "1", "hears/", faultpoint.Values{From: "place", Error: "broken"}),
			event(1690, "order-1", "1", "confirm/after", faultpoint.Values{}),
		},
	}
	s := Orphan(r)
	if got := fmt.Sprint(steps(s)); s == nil || fmt.Sprint(s.Names()) != "[buyer, order …1 order-2]" ||
		!strings.Contains(got, "1 dies ✗ nobody looks for the order again") || strings.Contains(got, "ledger") {
		t.Errorf("of an order that hangs, %v is shown", s)
	}
	r = &Run{
		History: r.History, Orders: []Order{{ID: "1", Status: "CANCELLED"}},
		Events: append(r.Events, event(1700, "order-1", "1", "set-status/after", faultpoint.Values{
			Said: "true", To: "CANCELLED",
		})),
	}
	if got := fmt.Sprint(steps(Orphan(r))); !strings.Contains(got, "1 reads the ledger: nothing yet "+
		"✓ a reconciler has found the order 1 the order is CANCELLED") || strings.Contains(got, "nobody") {
		t.Errorf("of an order that is found, %s is shown", got)
	}
}

// TestTakenFlag: the flag is there no more for the second service, not for the one that took it.
func TestTakenFlag(t *testing.T) {
	dies := event(3, "stock-1", "1", "take-flag/after", faultpoint.Values{Said: "true"})
	dies.Action = faultpoint.Kill
	r := &Run{
		Broken: true, History: &history.History{Goods: []history.Goods{{ID: 1}}},
		Orders: []Order{{ID: "1", Status: "CANCELLED"}},
		Events: []faultpoint.Event{
			event(1, "order-1", "1", "call-stock/before", faultpoint.Values{}),
			event(3, "stock-1", "1", "take-flag/after", faultpoint.Values{Said: "true"}), dies,
			event(70, "stock-2", "1", "take-flag/after", faultpoint.Values{Said: "false"}),
			event(71, "order-1", "1", "call-stock/after", faultpoint.Values{Error: "conflict"}),
		},
	}
	if got := fmt.Sprint(steps(TakenFlag(r))); !strings.Contains(got, "finds no flag in Redis ✗ it takes the order") {
		t.Errorf("of a flag that is taken, %v is shown", got)
	}
	// Where there is little place, that the flag was there and is gone matters more than the levels.
	r = &Run{History: r.History, Orders: []Order{{ID: "1", Status: "CONFIRMED"}}, Events: slices.Clone(r.Events[:4])}
	r.Events = append(r.Events, event(71, "stock-2", "1", "lookup-flow/after", faultpoint.Values{}))
	for i := range 12 {
		r.Events = append(r.Events, event(72+i, "stock-2", "1", "acquire-lock/after", faultpoint.Values{}),
			event(72+i, "order-1", "1", "set-status/after", faultpoint.Values{Said: "true"}))
	}
	r.Events = append(r.Events, event(90, "stock-2", "1", "release-lock/before", faultpoint.Values{}))
	got := fmt.Sprint(steps(TakenFlag(r)))
	if !strings.Contains(got, "1 takes the flag from Redis") || !strings.Contains(got, "2 finds no flag in Redis") {
		t.Errorf("of a flag that is gone, %s is shown", got)
	}
}

// TestRepeat shows that the first answer is lost.
func TestRepeat(t *testing.T) {
	lost := event(6, "stock-1", "1", "reply/before", faultpoint.Values{})
	lost.Action = faultpoint.Error
	r := &Run{
		Broken: true, History: &history.History{Goods: []history.Goods{{ID: 1}}},
		Orders: []Order{{ID: "1", Status: "CANCELLED"}}, Flows: []Flow{{"1", 1, -1}},
		Events: []faultpoint.Event{
			event(1, Client, "1", "sends/", faultpoint.Values{From: "place"}),
			event(5, "stock-1", "1", "commit/after", faultpoint.Values{}), lost,
			event(8, "stock-2", "1", "lookup-flow/after", faultpoint.Values{Said: "DONE"}),
			event(9, "order-1", "1", "call-stock/after", faultpoint.Values{Error: "conflict"}),
			event(10, "order-1", "1", "set-status/after", faultpoint.Values{Said: "true", To: "CANCELLED"}),
		},
	}
	want := "[0 orders 2 commits 2 its answer is lost ‖ lost there by the experiment " +
		"3 looks into the ledger: done ✗ answers only that it is a repeat " +
		"1 hears: a repeat, and no outcome ✗ the first attempt had deducted it 1 the order is CANCELLED]"
	s := Repeat(r)
	if got := fmt.Sprint(steps(s)); got != want {
		t.Errorf("%s is shown, want %s", got, want)
	}
	if commits := s.Steps[1]; commits.Weight < 8 {
		t.Errorf("the stage may leave out that it was deducted: %+v", commits)
	}
}

// TestRepeatOfAGroup shows where the answer was lost, though the transaction was a group's.
func TestRepeatOfAGroup(t *testing.T) {
	lost := event(6, "stock-1", "1", "reply/before", faultpoint.Values{})
	lost.Action = faultpoint.Error
	r := &Run{
		History: &history.History{Goods: []history.Goods{{ID: 1}}},
		Orders:  []Order{{ID: "1", Status: "CONFIRMED"}}, Flows: []Flow{{"1", 1, -1}},
		Events: []faultpoint.Event{
			event(1, Client, "1", "sends/", faultpoint.Values{From: "place"}),
			event(2, "order-1", "1", "call-stock/before", faultpoint.Values{}),
			event(5, "stock-1", "group-1", "commit/after", faultpoint.Values{}), lost,
			event(9, "stock-2", "1", "lookup-flow/after", faultpoint.Values{Said: "DONE"}),
		},
	}
	if got := fmt.Sprint(steps(Repeat(r))); !strings.Contains(got, "its answer is lost") {
		t.Errorf("of an answer that is lost, %s is shown", got)
	}
}

// TestTogether shows the greatest group that sold under its lock.
func TestTogether(t *testing.T) {
	r := &Run{History: &history.History{Goods: []history.Goods{{ID: 1}}}}
	for id := range int64(5) {
		r.Events = append(r.Events, event(103, "stock-1", "group-2", "read-stock/after", faultpoint.Values{Read: new(id)}))
	}
	for i, group := range []struct{ name, size string }{{"group-1", "2"}, {"group-2", "11"}, {"group-3", "40"}} {
		at, token := 100*i, faultpoint.Values{Token: fmt.Sprintf("%016x%016x", i+1, 1)}
		if group.name == "group-3" {
			token.Token = "" // without the lock
		} else {
			r.Events = append(r.Events, event(at+1, "stock-1", "", "acquire-lock/after", token),
				event(at+9, "stock-1", "", "release-lock/before", token))
		}
		r.Events = append(r.Events,
			event(at+2, "stock-1", group.name, "deduct/before", faultpoint.Values{Token: token.Token, Said: group.size}),
			event(at+4, "stock-1", group.name, "update-stock/after",
				faultpoint.Values{Taken: new(int64(3)), Rows: new(int64(1))}),
			event(at+5, "stock-1", group.name, "commit/after", faultpoint.Values{}),
			event(at+6, "stock-1", group.name, "deduct/after", faultpoint.Values{}))
	}
	s := Together(r)
	if got := fmt.Sprint(steps(s)); s == nil || fmt.Sprint(s.Names()) != "[stock-1, 11 orders together]" ||
		!strings.Contains(got, " 0 reads the levels of 5 products 0 takes 3, commits "+
			"✓ one lock and one transaction for all of them 0 gives the lock back") {
		t.Errorf("of three groups, %v is shown: %s", s, got)
	}
	if s := Together(&Run{History: r.History}); s != nil {
		t.Errorf("of no group, %v is shown", s)
	}
}

// TestRateIsTheRunsOwn: not by the time that the last orders took to end.
func TestRateIsTheRunsOwn(t *testing.T) {
	done := history.Call{Kind: history.Place, Status: history.Confirmed, Done: time.Second}
	r := &Run{
		Orders: make([]Order, 4),
		History: &history.History{
			Calls: []history.Call{done, done, done, done}, Window: 2 * time.Second, Elapsed: 3 * time.Second,
		},
	}
	if got := r.rate(); got != "4 orders in 2.0 s, 2.0 a second" {
		t.Errorf("the rate is %q", got)
	}
}

// TestParent shows the node that both miss, and not the one under it, which only the second makes.
func TestParent(t *testing.T) {
	locks, own := faultpoint.Values{Node: "/locks"}, faultpoint.Values{Node: "/locks/2"}
	exists := faultpoint.Values{Node: "/locks", Error: "exists"}
	r := &Run{
		History: &history.History{Goods: []history.Goods{{ID: 1}}},
		Events: append(deduction("stock-1", "1", 7, 6, 20, 50, 30, 35, 40),
			event(19, "stock-1", "1", "make-parent/before", locks), event(19, "stock-1", "1", "make-parent/after", locks)),
	}
	r.Events = append(r.Events, deduction("stock-2", "2", 7, 6, 25, 50, 30, 35, 40)...)
	r.Events = append(r.Events,
		event(24, "stock-2", "2", "make-parent/before", locks), event(24, "stock-2", "2", "make-parent/after", exists),
		event(24, "stock-2", "2", "make-parent/before", own), event(24, "stock-2", "2", "make-parent/after", own))
	got := strings.Join(steps(Parent(r)), "\n")
	if strings.Count(got, "\n1 finds no parent node\n1 creates it: it exists ✓ ") != 1 ||
		strings.Count(got, "no parent node") != 2 || strings.Count(got, "creates it") != 2 {
		t.Errorf("of two that miss a node, this is shown:\n%s", got)
	}
}

// TestSleeper: if a holder had read its level before the sleeper wrote, and writes after it, the sleeper's sale is
// forgotten in turn, and not those in between, as the books say.
func TestSleeper(t *testing.T) {
	sleeps := event(3, "stock-1", "1", "update-stock/before", faultpoint.Values{})
	sleeps.Action, sleeps.Held = faultpoint.Stop, 40*time.Millisecond
	r := &Run{
		Broken: true, History: &history.History{Goods: []history.Goods{{ID: 1}}},
		Events: append(deduction("stock-1", "1", 7, 4, 1, 54, 2, 50, 53), sleeps),
	}
	r.Events = append(r.Events, deduction("stock-2", "2", 7, 6, 20, 28, 25, 26, 27)...)
	r.Events = append(r.Events, deduction("stock-2", "4", 4, 3, 61, 70, 65, 66, 67)...) // reads what the sleeper wrote
	got := fmt.Sprint(steps(Sleeper(r)))
	if !strings.Contains(got, "✗ it forgets 1 sale made in between") || strings.Contains(got, "overwrites") {
		t.Errorf("of a sleeper that nobody meets, %s is shown", got)
	}
	r.timeline, r.acquired, r.order = nil, nil, nil
	r.Events = append(r.Events, deduction("stock-2", "3", 6, 5, 31, 57, 51, 55, 56)...)
	got = fmt.Sprint(steps(Sleeper(r)))
	if !strings.Contains(got, "0 writes 4 2 reads 6 pieces 0 commits ✗ it writes over 1 sale made in between") ||
		!strings.Contains(got, "2 writes 5, commits ✗ 5 overwrites 4: the sale of order …1 is forgotten") ||
		!strings.Contains(got, "0 takes the lock, token 1 0 reads 7 pieces 0 sleeps for 40 ms") ||
		!strings.Contains(got, "1 writes 6, commits") {
		t.Errorf("of a sleeper whose sale is overwritten, %s is shown", got)
	}
}

// TestLocksAreNamed: where an attempt takes the locks of several products, each step says which; one lock has no name.
func TestLocksAreNamed(t *testing.T) {
	lock := func(ms int, point string) faultpoint.Event {
		e := event(ms, "stock-1", "1", "acquire-lock/"+point, faultpoint.Values{Token: fmt.Sprintf("%016x%016x", ms, 0)})
		e.Goods = 0
		return e
	}
	gives := func(ms, took int) faultpoint.Event {
		e := event(ms, "stock-1", "1", "release-lock/before", faultpoint.Values{Token: fmt.Sprintf("%016x%016x", took, 0)})
		e.Goods = 0
		return e
	}
	begins := event(0, "stock-1", "1", "deduct/before", faultpoint.Values{Said: "8:1,9:2"})
	h := &history.History{Goods: []history.Goods{{ID: 7}, {ID: 8}, {ID: 9}}}
	for _, test := range []struct {
		events []faultpoint.Event
		want   string
	}{
		{
			[]faultpoint.Event{lock(1, "before"), lock(2, "after"), lock(3, "before"), lock(4, "after")},
			"[0 asks for the lock of product 2 0 takes the lock of product 2, token 2 " +
				"0 asks for the lock of product 3 0 takes the lock of product 3, token 4]",
		},
		{
			[]faultpoint.Event{
				lock(1, "before"), lock(2, "after"), lock(3, "before"), lock(4, "after"), gives(5, 2), event(6, "stock-1", "1",
					"roll-back/before", faultpoint.Values{}), gives(7, 4),
			},
			"[0 asks for the lock of product 2 0 takes the lock of product 2, token 2 " +
				"0 asks for the lock of product 3 0 takes the lock of product 3, token 4 " +
				"0 gives the lock of product 2 back 0 rolls back 0 gives the lock of product 3 back]",
		},
		{
			[]faultpoint.Event{lock(1, "before"), lock(2, "before"), lock(3, "after"), lock(4, "after")},
			"[0 asks for the lock of product 2 0 asks for the lock of product 3 0 takes the locks of product 2, product 3]",
		},
		{
			[]faultpoint.Event{lock(1, "before"), lock(2, "after")},
			"[0 asks for the lock 0 takes the lock, token 2]",
		},
	} {
		r := &Run{History: h, Events: append([]faultpoint.Event{begins}, test.events...)}
		if got := fmt.Sprint(steps(r.path("1").end(""))); got != test.want {
			t.Errorf("%s is shown, want %s", got, test.want)
		}
	}
}

// TestOrdersAreNumbered as in the sale, which is the same in each run with the seed; another order has its id's end.
func TestOrdersAreNumbered(t *testing.T) {
	h := &history.History{Run: "r1", Odd: true}
	for range 12 {
		h.AddOrder(nil)
	}
	for _, test := range []struct {
		path      history.Path
		flag, key string
		want      string
	}{
		{history.PathOrder, "2127107123583705089", "r1-11", "no. 11"},
		{history.PathOrder, "2127107123583705089", h.Key(7), "no. 7"}, // a key like its neighbour's
		{history.PathOrder, "2127107123583705089", "minus-five", "…5089"},
		{history.PathDeduct, history.DirectPrefix + "r1-3", "", "no. 3"},
		{history.PathDeduct, history.DirectPrefix + "r1-99", "", "…1-99"},
	} {
		h.Path = test.path
		r := &Run{History: h, Orders: []Order{{ID: test.flag, Key: test.key}}}
		r.prepare()
		if got := r.short(test.flag); got != test.want {
			t.Errorf("%+v is %q", test, got)
		}
	}
}

// TestRateIsTheVerdicts: the line below the lanes has the number of the headline.
func TestRateIsTheVerdicts(t *testing.T) {
	h := &history.History{Window: 2 * time.Second, Elapsed: 9 * time.Second}
	for i := range 1212 {
		c := history.Call{Op: int32(i), Status: history.Confirmed, Done: time.Second}
		if i == 0 {
			c.Status = history.Pending
		}
		h.Calls = append(h.Calls, c)
	}
	r := &Run{History: h, Orders: make([]Order, 1212)}
	if got, want := r.rate(), "1,211 orders in 2.0 s, "+report.PerS(h.Measure().OrdersPerS)+" a second"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	level := int64(19_999)
	e := faultpoint.Event{Step: faultpoint.ReadStock, When: faultpoint.After, Values: faultpoint.Values{Read: &level}}
	if got, _ := r.describe(e); got != "reads 19,999 pieces" {
		t.Errorf("a level of 19999: %q", got)
	}
}

// TestSameOrdersAsBroken: of two that take turns, the orders of the broken run are shown; else it says that they are
// others.
func TestSameOrdersAsBroken(t *testing.T) {
	h := &history.History{Run: "r1", Path: history.PathDeduct, Goods: []history.Goods{{ID: 1}}}
	for range 9 {
		h.AddOrder(nil)
	}
	var events []faultpoint.Event
	for n := range 4 {
		process, level, at := []string{"stock-1", "stock-2"}[n%2], int64(7-n), 10*n
		events = append(events, deduction(process, h.Key(n), level, level-1, at+3, at+9, at+4, at+5, at+6)...)
	}
	for _, test := range []struct {
		before *Scene
		want   string
		says   bool
	}{
		{nil, "[{stock-1 order no. 0} {stock-2 order no. 1}]", false},
		{
			&Scene{Lanes: []Lane{{"stock-1", "order no. 3"}, {"stock-1", "order no. 1"}}},
			"[{stock-2 order no. 1} {stock-2 order no. 3}]", false,
		},
		{
			&Scene{Lanes: []Lane{{"stock-1", "order no. 8"}, {"stock-1", "order no. 1"}}},
			"[{stock-1 order no. 0} {stock-2 order no. 1}]", true,
		},
	} {
		r := &Run{History: h, Events: events, Before: test.before}
		for i := range r.Events { // each asks for the lock before the one before it gives it back
			e := &r.Events[i]
			if e.When == faultpoint.Before && (e.Step == faultpoint.Deduct || e.Step == faultpoint.AcquireLock) {
				e.At = time.Millisecond
			}
		}
		s := TwoReaders(r)
		if s == nil {
			t.Fatal("nothing is shown")
		}
		s.Compare(test.before)
		if got := fmt.Sprint(s.Lanes); got != test.want || (s.Says != "") != test.says {
			t.Errorf("beside %v, %s is shown with %q; want %s", test.before, got, s.Says, test.want)
		}
		var text strings.Builder
		s.Text(&text)
		for name, all := range map[string]string{
			"the text": strings.Join(strings.Fields(text.String()), " "), "the document": s.Markdown(),
			"the report": s.Part("").Says,
		} {
			if strings.Contains(all, "other orders than in the broken run") != test.says {
				t.Errorf("%s: %s", name, all)
			}
		}
	}
}

// TestTimesShowStepsApart: steps of one process are often a millisecond apart, also seconds after the first.
func TestTimesShowStepsApart(t *testing.T) {
	for ms, want := range map[float64]string{
		0: "0.0 ms", 17.74: "17.7 ms", 999.94: "999.9 ms", 999.96: "1.000 s", 3005.2: "3.005 s", 3006.1: "3.006 s",
	} {
		if got := (Step{AtMS: ms}).Time(); got != want {
			t.Errorf("%v ms: %q, want %q", ms, got, want)
		}
	}
}
