package lanes

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"orderstock/loadtest/faultpoint"
	"orderstock/loadtest/history"
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
