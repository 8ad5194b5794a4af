package verify_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"orderstock/loadtest/history"
	"orderstock/loadtest/verify"
)

// A disturbance excuses the calls beside it, and no others. In the world, orders 24 and 25 get no end at once, within
// the first 50 ms of an hour.
func TestADisturbanceExcusesTheCallsBesideIt(t *testing.T) {
	t.Parallel()
	good := newWorld(t)
	away := func(from, to time.Duration) func(w *world) {
		return func(w *world) { w.h.Away = []history.Away{{Address: "http://stock", From: from, To: to}} }
	}
	act := func(from, to time.Duration) func(w *world) {
		return func(w *world) {
			w.h.Breakable, w.h.Acts = true, []history.Act{{Cause: "kill at stock-1", From: from, To: to}}
		}
	}
	for name, test := range map[string]struct {
		change func(w *world)
		want   verify.Outcome
		calm   int
	}{
		"no disturbance":     {func(*world) {}, verify.Violation, 100},
		"a service was away": {away(0, time.Second), verify.Pass, 99},
		"it was away before": {func(w *world) { away(0, 0)(w); w.later(3 * time.Second) }, verify.Violation, 100},
		"a breaker rested":   {func(w *world) { away(0, 0)(w); w.later(time.Second) }, verify.Pass, 99},
		"it was away by turns, and a call came after": {func(w *world) {
			for at := time.Duration(0); at < time.Hour; at += time.Minute {
				w.h.Away = append(w.h.Away, history.Away{From: at, To: at + 29*time.Second})
			}
			w.later(29 * time.Second)
		}, verify.Pass, 51},
		"it was away later":  {away(time.Minute, 2*time.Minute), verify.Violation, 98},
		"it was away mostly": {away(0, 40*time.Minute), verify.Unknown, 33},
		"it was meant so":    {func(w *world) { w.h.Disturbed = true }, verify.Pass, 0},
		"an act":             {act(0, time.Second), verify.Pass, 99},
		"an act broke it": {func(w *world) {
			act(0, time.Second)(w)
			w.broken(25)
		}, verify.Pass, 99},
		"an act for most of the run": {act(0, 40*time.Minute), verify.Pass, 33},
		"an act later":               {act(time.Minute, 2*time.Minute), verify.Violation, 98},
		"an act before":              {func(w *world) { act(0, 0)(w); w.later(3 * time.Second) }, verify.Violation, 100},
		"a breaker rested after it":  {func(w *world) { act(0, 0)(w); w.later(time.Second) }, verify.Pass, 99},
		"one broke long after an act": {func(w *world) {
			act(0, 0)(w)
			w.broken(25)
			w.later(3 * time.Second)
		}, verify.Violation, 99},
		"an act, and a service that was away for most of the rest": {func(w *world) {
			act(time.Minute, 20*time.Minute)(w)
			w.h.Away = []history.Away{{To: time.Minute}, {From: 20 * time.Minute, To: 40 * time.Minute}}
		}, verify.Pass, 33},
		"an act, and a slow machine": {func(w *world) {
			act(time.Minute, 2*time.Minute)(w)
			w.placed(0).Done += 50 * time.Minute
		}, verify.Pass, 16},
		"an act, and nobody is there": {func(w *world) {
			act(time.Minute, 2*time.Minute)(w)
			w.h.Away = []history.Away{{To: 50 * time.Minute}}
		}, verify.Unknown, 16},
		"a call was slower than the services' own limits": {func(w *world) {
			w.h.StepLimit = 400 * time.Millisecond
			w.placed(0).Done += 500 * time.Millisecond
		}, verify.Pass, 99},
		"another call was slow":   {func(w *world) { w.placed(0).Done += time.Second }, verify.Pass, 99},
		"another one was refused": {func(w *world) { w.refused(0) }, verify.Pass, 99},
		"refused long before":     {func(w *world) { w.refused(0); w.later(3 * time.Second) }, verify.Violation, 99},
		"one broke, though a service was away": {func(w *world) {
			away(0, time.Second)(w)
			w.broken(25)
		}, verify.Violation, 99},
		"one broke while a service left that had said so": {func(w *world) {
			away(0, time.Second)(w)
			w.h.Away[0].Announced = true
			w.broken(25)
		}, verify.Pass, 99},
		"one broke when another time had been announced": {func(w *world) {
			away(0, time.Second)(w)
			w.h.Away = append(w.h.Away, history.Away{From: time.Minute, To: time.Hour, Announced: true})
			w.broken(25)
		}, verify.Violation, 1},
		"one was limited": {func(w *world) { away(0, 0)(w); w.limited(3 * time.Second) }, verify.Violation, 99},
		"one was limited where limits are": {func(w *world) {
			away(0, 0)(w)
			w.limited(3 * time.Second)
			w.h.Limited = true
		}, verify.Pass, 99},
		"one never ended":                  {func(w *world) { w.never(false) }, verify.Violation, 0},
		"one never ended, and was to wait": {func(w *world) { w.never(true) }, verify.Pass, 0},
		"most never ended, and were to wait": {func(w *world) {
			w.h.Asked = 240
			w.never(true)
		}, verify.Unknown, 0},
		"it was meant that one broke": {func(w *world) { w.h.Disturbed = true; w.broken(25) }, verify.Pass, 0},
	} {
		w := *good
		w.h = good.h.Clone()
		w.h.Disturbed = false
		*w.placed(25) = history.Call{
			Op: 25, Sent: w.placed(25).Sent, Done: w.placed(25).Done, Code: 503, Problem: history.UnknownOutcome,
		}
		test.change(&w)
		if v := w.verify(t); v.Outcome != test.want || v.Calm != test.calm {
			var text bytes.Buffer
			_ = v.Write(&text, false)
			t.Errorf("%s: want %s with calm=%d%%:\n%s", name, test.want, test.calm, &text)
		}
	}
}

// A first answer that repeats another is right behind a proxy that sends calls again. In calm, that is named.
func TestAProxyThatSendsCallsAgainIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.placed(0).Replayed = true
	if v := w.verify(t); v.Outcome != verify.Pass {
		t.Errorf("%s, violated: %v", v, v.Violated())
	}
	w.h.Disturbed = false
	w.h.Calls = slices.DeleteFunc(w.h.Calls, func(c history.Call) bool { return !c.Ended() })
	v := w.verify(t)
	if !strings.Contains(strings.Join(v.Reasons, ""), "something between sends calls again") ||
		slices.Contains(v.Violated(), verify.AnswersOverTime) {
		t.Errorf("%s, violated: %v, reasons %q", v, v.Violated(), v.Reasons)
	}
}

// later moves all calls but the first.
func (w *world) later(by time.Duration) {
	for i := range w.h.Calls[1:] {
		c := &w.h.Calls[i+1]
		c.Sent, c.Done = c.Sent+by, c.Done+by
	}
}

// limited adds a repeat of an order that is answered 429.
func (w *world) limited(later time.Duration) {
	c := w.call(5, history.Again, history.NoStatus)
	*c = history.Call{Op: 5, Kind: history.Again, Sent: c.Sent + later, Code: 429, Problem: history.RateLimited}
	c.Done = c.Sent
}

// never lets the calls of order 25 have no end, in a run that was meant to be disturbed.
func (w *world) never(postponed bool) {
	w.h.Disturbed, w.h.Patience, w.placed(25).Postponed = true, time.Second, postponed
}

// refused adds a call of order n before all others that reached nobody.
func (w *world) refused(n int) {
	w.h.Calls = append([]history.Call{{Op: int32(n), Done: time.Microsecond, Failure: history.Refused}}, w.h.Calls...)
}

// broken lets the first call of order n break.
func (w *world) broken(n int) {
	c := w.placed(n)
	*c = history.Call{Op: c.Op, Sent: c.Sent, Done: c.Done, Failure: history.Broken}
}
