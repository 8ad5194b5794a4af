package lanes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"orderstock/loadtest/faultpoint"
	"orderstock/loadtest/report"
)

// mostSteps is how many steps a scene has.
const mostSteps = 12

// mostLevels is how many products a step lists.
const mostLevels = 4

// draft is a scene in the making.
type draft struct {
	run   *Run
	lanes []Lane
	all   []moment
}

// moment is a step, with the event that it comes from.
type moment struct {
	Step
	event   faultpoint.Event
	at      time.Duration
	product string // the name of the event's product, or of all whose locks are taken; "" if it is not said
	staged  bool   // the experiment holds the lane, so that it happens each time
	count   int    // of the moments that it was joined of
	once    string // their text
}

// of says which events belong to a lane.
type of struct {
	lane Lane
	has  func(e faultpoint.Event) bool
}

// by returns a lane of an attempt. A group's has the acquisition and the release of its lock, too.
func (r *Run) by(a *attempt) of {
	group := faultpoint.IsGroup(a.flag)
	return of{r.lane(a), func(e faultpoint.Event) bool {
		if group && e.Flag == "" {
			return e.Process == a.process && e.Token == a.token
		}
		return e.Process == a.process && e.Flag == a.flag && e.At >= a.began && (a.ended == 0 || e.At <= a.ended)
	}}
}

// last is when an attempt was over.
func (a *attempt) last() time.Duration {
	return max(a.released, a.gave, a.committed, a.wrote, a.readAt, a.acquired, a.asked)
}

// follow drafts the steps of the lanes.
func (r *Run) follow(from, to time.Duration, lanes ...of) *draft {
	d := &draft{run: r}
	for _, l := range lanes {
		d.lanes = append(d.lanes, l.lane)
	}
	for _, e := range r.timeline {
		if e.At < from || e.At > to {
			continue
		}
		for i, l := range lanes {
			if l.has(e) {
				d.add(e, i)
				break
			}
		}
	}
	return d
}

// add adds the steps of an event: what happens there and what holds the lane, which comes before a step that has not
// begun.
func (d *draft) add(e faultpoint.Event, lane int) {
	text, weight := d.run.describe(e)
	step := moment{
		Step: Step{Lane: lane, Text: text, To: -1, Weight: weight}, event: e, at: begun(e), product: d.run.productOf(e),
	}
	held := moment{Step: Step{Lane: lane, To: -1, Held: heldThere, Weight: 3}, event: e, at: e.At, staged: true}
	switch {
	case e.Action == faultpoint.Kill:
		held.Text, held.Held, held.Weight, held.staged = "dies", "killed there by the experiment", 8, false
	case e.Action == faultpoint.Error && e.Step == faultpoint.Reply:
		held.Text, held.Held, held.Weight, held.staged = "its answer is lost", "lost there by the experiment", 8, false
	case e.Held < leastHeld:
		held.Weight = 0
	case e.Action == faultpoint.Stop:
		held.Text, held.Weight = "sleeps for "+span(e.Held), 5
	default:
		held.Text = "stands still for " + span(e.Held)
	}
	for _, m := range []moment{step, held} {
		if m.Weight > 0 {
			d.all = append(d.all, m)
		}
	}
}

// leastHeld is the shortest time that an experiment is said to hold a lane.
const leastHeld = 3 * time.Millisecond

// begun returns when the step of an event before it began: after what held it.
func begun(e faultpoint.Event) time.Duration {
	if e.When == faultpoint.Before {
		return e.At + e.Held
	}
	return e.At
}

// The words for a hold by the experiment, and for one whose step was left out.
const (
	heldThere = "held there by the experiment"
	heldUntil = "held until then by the experiment"
)

// span returns a duration in words.
func span(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// wrong marks the last step that is of an event at the point in the lane.
func (d *draft) wrong(lane int, point, why string) {
	d.mark(lane, point, func(s *Step) { s.Wrong = why })
}

// right marks it as the refusal of something wrong.
func (d *draft) right(lane int, point, why string) {
	d.mark(lane, point, func(s *Step) { s.Right = why })
}

// wrongAt and rightAt mark the last step at the point in any lane of the processes whose names begin so.
func (d *draft) wrongAt(prefix, point, why string) {
	d.markAt(prefix, point, func(s *Step) { s.Wrong = why })
}

func (d *draft) rightAt(prefix, point, why string) {
	d.markAt(prefix, point, func(s *Step) { s.Right = why })
}

func (d *draft) markAt(prefix, point string, set func(*Step)) {
	d.markIf(func(m moment) bool { return strings.HasPrefix(d.lanes[m.Lane].Process, prefix) && isAt(m, point) }, set)
}

func isAt(m moment, point string) bool { return faultpoint.Point(m.event.Step, m.event.When) == point }

// dead marks the death of a process.
func (d *draft) dead(why string) {
	for i, m := range d.all {
		if m.event.Action == faultpoint.Kill && m.Held != "" {
			d.all[i].Wrong, d.all[i].Weight = why, 9
		}
	}
}

// stress keeps the last step of an event at the point in the lane, and adds words to it.
func (d *draft) stress(lane int, point, more string) {
	d.mark(lane, point, func(s *Step) { s.Text += more })
}

// weigh gives the steps with these names another weight.
func (d *draft) weigh(weight int, names ...faultpoint.Step) {
	for i, m := range d.all {
		if slices.Contains(names, m.event.Step) && m.Held == "" {
			d.all[i].Weight = weight
		}
	}
}

func (d *draft) mark(lane int, point string, set func(*Step)) {
	d.markIf(func(m moment) bool { return m.Lane == lane && isAt(m, point) }, set)
}

// rightIn marks the step of an event as the refusal of something wrong.
func (d *draft) rightIn(e faultpoint.Event, why string) {
	d.markIf(func(m moment) bool { return m.event == e }, func(s *Step) { s.Right = why })
}

// markIf marks the last step in any lane that satisfies the condition.
func (d *draft) markIf(is func(moment) bool, set func(*Step)) {
	last := -1
	for i, m := range d.all {
		if is(m) && m.Held == "" && (last < 0 || m.at >= d.all[last].at) {
			last = i
		}
	}
	if last >= 0 {
		set(&d.all[last].Step)
		d.all[last].Weight = 9
	}
}

// until leaves out later steps, and the lanes that have none then.
func (d *draft) until(at time.Duration) {
	d.all = slices.DeleteFunc(d.all, func(m moment) bool { return m.at > at })
	for lane := len(d.lanes) - 1; lane >= 0; lane-- {
		if slices.ContainsFunc(d.all, func(m moment) bool { return m.Lane == lane }) {
			continue
		}
		d.lanes = slices.Delete(d.lanes, lane, lane+1)
		for i := range d.all {
			if d.all[i].Lane > lane {
				d.all[i].Lane--
			}
		}
	}
}

// end returns the scene. books is its last line.
func (d *draft) end(books string) *Scene {
	slices.SortStableFunc(d.all, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	d.pass()
	d.join()
	for len(d.all) > mostSteps {
		least := 0
		for i, m := range d.all {
			if m.Weight < d.all[least].Weight {
				least = i
			}
		}
		d.leaveOut(least)
		d.join()
	}
	if len(d.all) == 0 {
		return nil
	}
	s, why := &Scene{Lanes: d.lanes, Books: books}, ", so that it happens each time"
	for _, m := range d.all {
		if m.staged {
			m.Held += why
			why = ", too"
		}
		m.AtMS = float64((m.at - d.all[0].at).Microseconds()) / 1000
		s.Steps = append(s.Steps, m.Step)
	}
	return s
}

// leaveOut leaves a step out. If the lane was held up there, its next step says so.
func (d *draft) leaveOut(i int) {
	left := d.all[i]
	d.all = slices.Delete(d.all, i, i+1)
	next := slices.IndexFunc(d.all[i:], func(m moment) bool { return m.Lane == left.Lane })
	if left.staged && next >= 0 && d.all[i+next].Held == "" {
		d.all[i+next].Held, d.all[i+next].staged = heldUntil, true
	}
}

// pass notes the lane that a lock goes to that is given back: the next one to take it.
func (d *draft) pass() {
	for i := range d.all {
		m := &d.all[i]
		if m.event.Step != faultpoint.ReleaseLock || m.Held != "" {
			continue
		}
		for _, next := range d.all[i+1:] {
			if acquires(next.event) && next.Lane != m.Lane && !d.run.between(m.at, next.at) {
				m.To = next.Lane
				break
			}
		}
	}
}

func acquires(e faultpoint.Event) bool {
	return e.Step == faultpoint.AcquireLock && e.When == faultpoint.After
}

// between reports whether somebody took a lock between two moments.
func (r *Run) between(from, to time.Duration) bool {
	after, _ := slices.BinarySearch(r.acquired, from+1)
	return after < len(r.acquired) && r.acquired[after] < to
}

// join joins equal neighbours of one lane, and a write with its commit.
func (d *draft) join() {
	var all []moment
	for _, m := range d.all {
		if len(all) > 0 {
			last := &all[len(all)-1]
			if last.Lane == m.Lane && last.Wrong+last.Right+last.Held+m.Held == "" && last.joins(m) {
				continue
			}
		}
		all = append(all, m)
	}
	d.all = all
}

// joins takes a moment in that follows, if the two make one step.
func (last *moment) joins(m moment) bool {
	is := func(step faultpoint.Step) bool { return last.event.Step == step && m.event.Step == step }
	switch {
	case is(faultpoint.AcquireLock) && acquires(last.event) && acquires(m.event):
		last.count = max(last.count, 1) + 1
		if last.product == "" || m.product == "" {
			m.product, m.Text = "", report.English.Sprintf("takes %d locks", last.count)
		} else {
			m.product = last.product + ", " + m.product
			m.Text = "takes the locks" + ofProduct(m.product)
		}
	case is(faultpoint.ReleaseLock):
		m.Text = "gives the locks back"
	case is(faultpoint.ReadStock) && last.Text != m.Text:
		last.count = max(last.count, 1) + 1
		m.Text = last.Text + ", " + report.Many(*m.event.Read, "piece") + ofProduct(m.product)
		if last.count > mostLevels {
			m.Text = report.English.Sprintf("reads the levels of %d products", last.count)
		}
	case is(faultpoint.UpdateStock), m.event.Step == faultpoint.Commit && last.event.Step == faultpoint.UpdateStock:
		m.Text = last.Text + ", " + m.Text
	case m.Wrong+m.Right == "" && m.Text == cmp.Or(last.once, last.Text):
		last.count, last.once = max(last.count, 1)+1, m.Text
		last.Text = report.English.Sprintf("%s (%d times)", m.Text, last.count)
		return true
	default:
		return false
	}
	m.Weight, m.count = max(m.Weight, last.Weight), last.count
	*last = m
	return true
}
