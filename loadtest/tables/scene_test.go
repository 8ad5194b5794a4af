package tables_test

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"orderstock/loadtest/faultpoint"
	"orderstock/loadtest/history"
	"orderstock/loadtest/lanes"
	"orderstock/loadtest/system"
	"orderstock/loadtest/tables"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
	"orderstock/pkg/mysqldb"
)

// shown is what the scene of a broken variant must have: steps in this order, each as the number of its lane and a
// pattern for its words; and the numbers of its sentence, in their order, by the evidence.
type shown struct {
	steps   []string
	numbers func(*evidence) []float64
}

// evidence is what a run has left: its rows, its history and the events of its services.
type evidence struct {
	t       *testing.T
	lab     *system.System
	run     tables.Run
	history *history.History
}

// The numbers of sentences, by the evidence.
var (
	lost = func(e *evidence) []float64 {
		flags := e.stock("SELECT flag FROM stock_flow WHERE kind <> 'restock' GROUP BY flag HAVING SUM(num) < 0")
		failed := e.order("SELECT id FROM orders WHERE status IN ('REJECTED', 'CANCELLED')")
		n, pieces := 0, 0.0
		for _, flag := range flags {
			if slices.Contains(failed, flag) {
				n++
				pieces -= e.number(e.stock("SELECT SUM(num) FROM stock_flow WHERE flag = ?", flag))
			}
		}
		return []float64{float64(n), pieces}
	}
	pending = func(e *evidence) []float64 {
		open := e.number(e.order("SELECT COUNT(*) FROM orders WHERE status = 'PENDING'"))
		return []float64{open, e.number(e.order("SELECT COUNT(*) FROM orders"))}
	}
	givenUp = func(e *evidence) []float64 {
		return []float64{e.number(e.order("SELECT COUNT(*) FROM orders WHERE status = 'CANCELLED'"))}
	}
	negative = func(e *evidence) []float64 {
		const added = "FROM stock_flow WHERE kind = 'deduct' AND num > 0"
		return []float64{
			e.number(e.stock("SELECT COUNT(DISTINCT flag) " + added)), e.number(e.stock("SELECT SUM(num) " + added)),
		}
	}
	differing = func(e *evidence) []float64 {
		levels := e.number(e.stock("SELECT SUM(num) FROM stock"))
		return []float64{math.Abs(levels - e.number(e.stock("SELECT SUM(num) FROM stock_flow")))}
	}
	sold = func(e *evidence) []float64 {
		in := e.number(e.stock("SELECT SUM(num) FROM stock_flow WHERE kind = 'restock'"))
		out := -e.number(e.stock("SELECT COALESCE(SUM(num), 0) FROM stock_flow WHERE kind <> 'restock'"))
		if out > in {
			return []float64{out, in, out - in}
		}
		return []float64{out, in}
	}
	oversold = func(e *evidence) []float64 {
		if numbers := sold(e); len(numbers) == 3 {
			return numbers
		}
		return differing(e)
	}
	rate = func(e *evidence) []float64 {
		n, last := 0.0, time.Duration(0)
		for _, c := range e.history.Calls {
			if c.Kind == history.Place {
				last = max(last, c.Done)
				if c.Status == history.Confirmed || c.Status == history.Rejected {
					n++
				}
			}
		}
		return []float64{n / last.Seconds()}
	}
	// unserved returns the numbers of orders of which the client did not hear at once how they end. The point, which
	// shows the cause, struck some of them.
	unserved = func(cause faultpoint.Step, is func(faultpoint.Event) bool) func(e *evidence) []float64 {
		return func(e *evidence) []float64 {
			struck := map[string]bool{}
			for _, event := range e.events() {
				if event.Step == cause && event.When == faultpoint.After && is(event) {
					struck[event.Flag] = true
				}
			}
			n, caused := 0, 0
			for _, c := range e.history.Calls {
				if c.Kind == history.Place && c.Status != history.Confirmed && c.Status != history.Rejected &&
					c.Status != history.Done {
					n++
					if struck[e.flag(int(c.Op))] {
						caused++
					}
				}
			}
			if caused == 0 {
				e.t.Errorf("%d orders have no outcome at once, and %s struck none of them", n, cause)
			}
			return []float64{float64(n), float64(e.history.Orders())}
		}
	}
)

// stock and order return a column of a database.
func (e *evidence) stock(query string, args ...any) []string {
	return e.read(e.lab.StockDB, query, args...)
}

func (e *evidence) order(query string, args ...any) []string {
	return e.read(e.lab.OrderDB, query, args...)
}

func (e *evidence) read(db *sql.DB, query string, args ...any) []string {
	e.t.Helper()
	values, err := mysqldb.All(context.WithoutCancel(e.t.Context()), db, func(v *string) []any { return []any{v} },
		query, args...)
	if err != nil {
		e.t.Fatal(err)
	}
	return values
}

func (e *evidence) number(values []string) float64 {
	e.t.Helper()
	n, err := strconv.ParseFloat(values[0], 64)
	if err != nil {
		e.t.Fatal(err)
	}
	return n
}

// flag returns the flag of an order, by its number in the run.
func (e *evidence) flag(n int) string {
	e.t.Helper()
	if e.history.Path == history.PathDeduct {
		return e.history.Key(n)
	}
	return e.order("SELECT id FROM orders WHERE idempotency_key = ?", e.history.Key(n))[0]
}

// events returns those of all services.
func (e *evidence) events() (all []faultpoint.Event) {
	e.t.Helper()
	for _, service := range e.lab.Replicas() {
		events, err := service.Events(context.WithoutCancel(e.t.Context()))
		if err != nil {
			e.t.Fatal(err)
		}
		all = append(all, events...)
	}
	return all
}

// compare compares the numbers of the run's sentence, in their order, with those of the evidence.
func (e *evidence) compare(want []float64) {
	e.t.Helper()
	var got []float64
	for _, number := range regexp.MustCompile(`\d[\d,]*(\.\d+)?`).FindAllString(e.run.Sentence, len(want)) {
		n, _ := strconv.ParseFloat(strings.ReplaceAll(number, ",", ""), 64)
		got = append(got, n)
	}
	rounded := func(a, b float64) bool { return math.Abs(a-b) < 0.11 || b >= 100 && math.Abs(a-b) < 0.51 }
	if !slices.EqualFunc(got, want, rounded) {
		e.t.Errorf("the sentence %q has the numbers %g, and the evidence %g", e.run.Sentence, got, want)
	}
}

// scenes has a row for each fault. Lanes are buyer, order and stock, or numbers where all are of stock services.
var scenes = map[string]shown{
	"A": {[]string{
		"0 takes the lock, token", "0 gives the lock back", "1 reads N", "1 ✗ .* has not committed",
		"[01] ✗ .* is forgotten",
	}, oversold},
	"B": {[]string{
		"stock takes .* locks?", "stock takes .*refused.*commits", `stock ✗ \d+ pieces? (is|are) gone, and the order fails`,
		"buyer hears: failed",
	}, differing},
	"C": {[]string{
		"buyer orders", "stock dies", "stock ✗ it takes the order for a repeat", "order ✗ nothing was ever deducted",
	}, givenUp},
	"D": {[]string{
		"buyer orders", "stock .*commits", "stock its answer is lost", "order hears: a repeat, and no outcome",
		"order ✗ the first attempt",
		"buyer hears: failed",
	}, lost},
	"E": {[]string{
		"buyer orders", "stock stands still", "stock ‖ held there", "order hears: nothing in time",
		"order the order is REJECTED", "buyer hears: failed",
	}, lost},
	"F": {[]string{"buyer orders", "order writes the order: PENDING", "order dies", "order ✗ nobody looks"}, pending},
	"G": {[]string{"order asks the stock", "stock takes the lock", "stock ✗ a new session: .* for the lock"}, rate},
	"H": {[]string{
		"0 takes the lock", "0 gives the lock back", "1 takes the lock", "1 ✗ it has waited .* for other products",
	}, rate},
	"I": {[]string{
		"[01] finds no parent node", "0 creates it$", "1 creates it: it exists", "1 ✗ .* this order fails",
	}, unserved(faultpoint.MakeParent, func(e faultpoint.Event) bool { return e.Error != "" })},
	"J": {[]string{
		"0 gives the lock back", "1 .* goes away", "1 ✗ it does not listen yet", "1 gives up waiting",
	}, unserved(faultpoint.Unlatched, func(faultpoint.Event) bool { return true })},
	"K": {[]string{
		"0 takes the lock", "1 deletes its node .*: it gives up waiting", "2 wakes up: .* is gone", "2 takes the lock",
		"2 ✗ .* still holds it", "[02] ✗ .* is forgotten",
	}, oversold},
	"L": {[]string{"1 .* waits behind", "0 leaves its node", "0 ✗ nobody serves it", "1 gives up waiting"}, pending},
	"M": {[]string{
		"0 sleeps for", "1 takes the lock", "0 deletes", "0 ✗ that is the node of", "2 takes the lock", "2 ✗ .* still works",
		"[12] ✗ .* is forgotten",
	}, oversold},
	"N": {[]string{
		"0 takes the lock", "1 takes the lock", "1 reads N", "1 ✗ .* has not committed", "[01] ✗ .* is forgotten",
	}, oversold},
	"O": {[]string{
		"0 takes the lock", "0 reads N", "0 sleeps for", "0 ‖ held there", "1 takes the lock", "1 .*commits",
		"0 writes", "0 ✗ it (forgets|writes over) .* made in between",
	}, differing},
	"P": {[]string{
		"buyer orders", "order hears: done", "order reads the ledger: done", "order ✗ it has slept for [3-9]",
	}, rate},
	"Q": {[]string{"stock .*adds 5", "stock ✗ nobody brought them"}, negative},
}

// beside are further steps that scenes must have, in an order for themselves: on a busy machine, they may come before
// or after the others.
var beside = map[string][]string{
	"E": {"order hears: nothing in time", "stock .*commits", "stock ✗ the pieces are gone"},
	"J": {"1 .* waits behind", "1 .* goes away"},
}

// TestWhatHappened plays each fault broken, and looks whether its scene shows the essential steps in their order, with
// values that the rows have, too, and whether the sentence has the rows' numbers. Then it plays the other sides, which
// must pass. It takes minutes: each run has new services, and some last as long as a session. All runs of a fault but
// the first have services on one processor. With testing.Short() it makes one run of each fault, and plays the other
// sides of A alone.
func TestWhatHappened(t *testing.T) {
	t.Parallel()
	seeds, others := []uint64{42, 7, 1001}, tables.Published
	if testing.Short() {
		seeds, others = seeds[:1], others[:1]
	}
	folder := t.TempDir()
	l, err := system.Open(t.Context(), system.Config{
		Dir: filepath.Join(folder, "lab"), Bin: filepath.Join(folder, "bin"), Breakable: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	p, err := tables.NewPlayer(l, folder)
	if err != nil {
		t.Fatal(err)
	}
	var fired *history.History // the last one
	keep := trial.When(trial.Judged, "keep", func(_ context.Context, r *trial.Run) error {
		fired = r.History
		return nil
	})
	play := func(t *testing.T, f tables.Fault, side tables.Side, seed uint64) (*tables.Record, *evidence) {
		t.Helper()
		f.Checks = append(slices.Clone(f.Checks), keep)
		e, run := f.Play(side, seed)
		r, err := p.Play(t.Context(), e, run)
		if err != nil {
			t.Fatal(err)
		}
		return r, &evidence{t, l, r.Run, fired}
	}
	for _, f := range tables.Published {
		for i, seed := range seeds {
			if i > 0 {
				f = onOneProcessor(f)
			}
			t.Run(fmt.Sprint(f.Letter, "/", seed), func(t *testing.T) {
				r, e := play(t, f, tables.Broken, seed)
				showsWhatHappened(e, r, scenes[f.Letter])
			})
		}
	}
	for _, f := range others {
		for _, side := range []tables.Side{tables.Fixed, tables.Here} {
			t.Run(fmt.Sprint(f.Letter, "/", side), func(t *testing.T) {
				r, e := play(t, f, side, tables.FirstSeed)
				e.balance(r.Scene)
				switch {
				case r.Compare != nil:
					e.compare(rate(e))
				case f.Went != nil: // what became of the orders
					e.compare([]float64{float64(e.history.Orders()), sold(e)[0]})
				default:
					e.compare(sold(e))
				}
				if r.Run.Verdict != verify.Pass {
					t.Errorf("%s: %s", r.Run.Sentence, r.Verdict)
				}
				if r.Scene == nil && side == tables.Fixed {
					t.Fatalf("nothing is shown of %s: %s", r.Run, r.Run.Sentence)
				}
				var text strings.Builder
				if r.Scene != nil {
					r.Scene.Text(&text)
				}
				t.Logf("%s\n%s", r.Run.Sentence, &text)
				if strings.Contains(text.String(), "✗") || side == tables.Fixed && !strings.Contains(text.String(), "✓") {
					t.Errorf("%s does not show what is right: %s", r.Run, &text)
				}
			})
		}
	}
	t.Run("slow", func(t *testing.T) { sellsSlowly(t, play) })
	t.Run("too slow", func(t *testing.T) {
		p.Hurry(5 * time.Second)
		sellsTooSlowly(t, p)
	})
}

// onOneProcessor returns the fault for services that use one processor.
func onOneProcessor(f tables.Fault) tables.Fault {
	env := map[string]string{"GOMAXPROCS": "1"}
	maps.Copy(env, f.Env)
	f.Env = env
	return f
}

// sellsSlowly plays fault A on a machine that deducts four orders a second, or with testing.Short() 40. It sells more
// than there are, and ends once it has, or says that it was too slow.
func sellsSlowly(
	t *testing.T, play func(*testing.T, tables.Fault, tables.Side, uint64) (*tables.Record, *evidence),
) {
	t.Helper()
	delay := 250 // longer than the timeouts of other runs last
	if testing.Short() {
		delay = 25
	}
	f, err := tables.Find("A")
	if err != nil {
		t.Fatal(err)
	}
	f = onOneProcessor(f)
	maps.Copy(f.Env, faultpoint.Always(
		faultpoint.Rule{Step: faultpoint.AcquireLock, When: faultpoint.After, Action: faultpoint.Delay, DelayMS: delay},
		faultpoint.Rule{Step: faultpoint.UpdateStock, When: faultpoint.Before, Action: faultpoint.Meet},
	))
	r, _ := play(t, f, tables.Broken, tables.FirstSeed)
	t.Logf("%s, after %d orders in %d ms", r.Run.Sentence, r.Run.Orders, r.Run.ElapsedMS)
	if says := r.Run.Sentence; !strings.Contains(says, "too slow to show it") &&
		(r.Books.Sold <= 300 || !strings.Contains(says, "more than there were")) {
		t.Errorf("sold %d of 300, and the run says %q", r.Books.Sold, says)
	}
}

// sellsTooSlowly plays fault A on a machine that sells at most 10 orders a second, which is too slow for 800 buyers in
// the five seconds that a sale may last. With fewer buyers, it sells more than there are or, with a quarter of them,
// says that the machine is too busy. The other sides have as many buyers; with testing.Short() they are not played.
func sellsTooSlowly(t *testing.T, p *tables.Player) {
	t.Helper()
	f, err := tables.Find("A")
	if err != nil {
		t.Fatal(err)
	}
	f = onOneProcessor(f)
	f.Load.Concurrency = 16
	maps.Copy(f.Env, faultpoint.Always(
		faultpoint.Rule{Step: faultpoint.AcquireLock, When: faultpoint.After, Action: faultpoint.Delay, DelayMS: 100},
		faultpoint.Rule{Step: faultpoint.UpdateStock, When: faultpoint.Before, Action: faultpoint.Meet},
	))
	runs := map[tables.Side]tables.Run{}
	if testing.Short() {
		e, run := f.Play(tables.Broken, tables.FirstSeed)
		r, err := p.Play(t.Context(), e, run)
		if err != nil {
			t.Fatal(err)
		}
		runs[tables.Broken] = r.Run
	} else {
		pair, err := p.All(t.Context(), f, tables.FirstSeed)
		if err != nil {
			t.Fatal(err)
		}
		runs[tables.Broken], runs[tables.Fixed], runs[tables.Here] = pair.Broken, pair.Fixed, pair.Here
	}
	broken := runs[tables.Broken]
	for side, run := range runs {
		t.Logf("%s, of %d buyers: %s", side, run.Buyers, run.Sentence)
		if run.Buyers != broken.Buyers || run.Buyers > 400 || 8*run.Stock != 3*int64(run.Buyers) {
			t.Errorf("%s: %d buyers want %d pieces; want %d, fewer than 800, and three pieces for eight of them",
				side, run.Buyers, run.Stock, broken.Buyers)
		}
	}
	shown := strings.Contains(broken.Sentence, "more than there were") &&
		strings.Contains(broken.Sentence, "as 800 were too slow to show it")
	if !shown && (broken.Buyers > 200 || !strings.Contains(broken.Sentence, "a machine that is less busy")) {
		t.Errorf("%d buyers, and the run says %q", broken.Buyers, broken.Sentence)
	}
	if !slices.ContainsFunc(p.Runs.List(), func(r tables.Run) bool {
		return r.Buyers == 800 && strings.HasSuffix(r.Sentence, "; try fewer buyers")
	}) {
		t.Error("no run of all buyers asks for fewer")
	}
}

func showsWhatHappened(e *evidence, r *tables.Record, want shown) {
	t := e.t
	t.Helper()
	var text strings.Builder
	if r.Scene == nil {
		t.Fatalf("nothing is shown of %s: %s", r.Run, r.Run.Sentence)
	}
	r.Scene.Text(&text)
	t.Logf("%s\n%s", r.Run.Sentence, &text)
	for line := range strings.Lines(text.String()) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
			t.Errorf("a line has %d characters: %s", n, line)
		}
	}
	if n := len(r.Scene.Steps); n > 12 || len(r.Scene.Lanes) < 2 || len(r.Scene.Lanes) > 4 {
		t.Errorf("%d lanes with %d steps, want 2 to 4 with at most 12", len(r.Scene.Lanes), n)
	}
	if !slices.IsSortedFunc(r.Scene.Steps, func(a, b lanes.Step) int { return int(1000 * (a.AtMS - b.AtMS)) }) {
		t.Error("the steps are not in the order of time")
	}
	inOrder(t, r.Scene, want.steps)
	inOrder(t, r.Scene, beside[r.Run.Fault])
	if r.Run.Verdict != verify.Violation && r.Compare == nil {
		t.Fatalf("the run is %s", r.Run.Verdict)
	}
	e.compare(want.numbers(e))
	if r.Compare != nil {
		line := regexp.MustCompile(`, ([\d,.]+) a second$`).FindStringSubmatch(r.Scene.Books)
		if line == nil || !strings.HasPrefix(r.Run.Sentence, line[1]+" orders a second") {
			t.Errorf("the sentence is %q, and the books say %q", r.Run.Sentence, r.Scene.Books)
		}
	}
	e.balance(r.Scene)
	forgets(e, r.Scene)
}

// balance compares the last line of a scene with the rows, if it is of all products.
func (e *evidence) balance(s *lanes.Scene) {
	e.t.Helper()
	if s == nil || !strings.HasSuffix(s.Books, " there") {
		return
	}
	want := fmt.Sprint(append(sold(e)[:2], e.number(e.stock("SELECT SUM(num) FROM stock"))))
	var in, out, there float64
	_, err := fmt.Sscanf(strings.ReplaceAll(s.Books, ",", ""), "%g in %g sold %g there", &in, &out, &there)
	if got := fmt.Sprint([]float64{out, in, there}); err != nil || got != want {
		e.t.Errorf("the books are %q, and the rows have %s sold, in and there", s.Books, want)
	}
}

// inOrder looks for the patterns among the lines of the steps, one after the other. N is any number of pieces.
func inOrder(t *testing.T, s *lanes.Scene, want []string) {
	t.Helper()
	var lines []string
	for _, step := range s.Steps {
		for _, line := range step.Lines() {
			lane := strconv.Itoa(step.Lane)
			if s.Lanes[0].Process == lanes.Client || strings.HasPrefix(s.Lanes[0].Process, "order") {
				lane, _, _ = strings.Cut(s.Lanes[step.Lane].Process, "-")
			}
			lines = append(lines, lane+" "+strings.TrimPrefix(line, "◄── "))
		}
	}
	rest := lines
	for _, pattern := range want {
		is := regexp.MustCompile("^(" + strings.ReplaceAll(pattern, "reads N", `reads [\d,]+ pieces?`) + ")")
		i := slices.IndexFunc(rest, is.MatchString)
		if i < 0 {
			t.Errorf("no step %q, in its order, of %q in\n%s", pattern, want, strings.Join(lines, "\n"))
			return
		}
		rest = rest[i+1:]
	}
}

// forgets checks that an order which writes a level over another one's has a row in the ledger that is as large as what
// it subtracts from the level that it has read.
func forgets(e *evidence, s *lanes.Scene) {
	t := e.t
	t.Helper()
	reads, writes := regexp.MustCompile(`reads ([\d,]+) pieces?$`), regexp.MustCompile(`writes ([\d,]+)`)
	levelOf := func(text string) int64 {
		n, err := strconv.ParseInt(strings.ReplaceAll(text, ",", ""), 10, 64)
		if err != nil {
			t.Error(err)
		}
		return n
	}
	level := map[int]int64{}
	for _, step := range s.Steps {
		if m := reads.FindStringSubmatch(step.Text); m != nil {
			level[step.Lane] = levelOf(m[1])
		}
		m := writes.FindStringSubmatch(step.Text)
		before, known := level[step.Lane]
		order := s.Lanes[step.Lane].Order
		if m == nil || !known || order == "" {
			continue
		}
		after := levelOf(m[1])
		number, err := strconv.Atoi(strings.TrimPrefix(order, "order no. "))
		if err != nil {
			t.Errorf("%s has no number: %v", order, err)
			continue
		}
		num := strconv.FormatInt(after-before, 10)
		if !slices.Contains(e.stock("SELECT num FROM stock_flow WHERE flag = ?", e.flag(number)), num) {
			t.Errorf("%s reads %d and writes %d, and has no such row in the ledger", order, before, after)
		}
	}
}
