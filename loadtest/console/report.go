package console

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"orderstock/loadtest/act"
	"orderstock/loadtest/catalogue"
	"orderstock/loadtest/console/page"
	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/report"
	"orderstock/loadtest/verify"
)

// WriteReport writes a record as one HTML file that needs neither server nor
// network. If scripts are off, it shows the same figures, with the charts as SVG.
func WriteReport(w io.Writer, r *Record) error {
	still, err := r.Sheet().Body()
	if err != nil {
		return err
	}
	return page.WriteReport(w, r.Row.Title+", "+r.Row.Verdict, r, still)
}

// Sheet describes the record to a browser without scripts.
func (r *Record) Sheet() report.Sheet {
	s := report.Sheet{Title: r.Row.Title, Facts: []report.Fact{
		{Name: "Run", Value: r.Row.ID},
		{Name: "At", Value: r.Row.At.Format("2006-01-02 15:04:05") + " UTC"},
		{Name: "Variant", Value: r.Row.Variant},
		{Name: "Strategy", Value: r.Row.Strategy},
		{Name: "Seed", Value: r.Row.Seed},
		{Name: "Command", Value: r.Row.Command},
	}}
	if r.Hero != nil {
		s.Sentence, s.Word = r.Hero.Sentence, r.Hero.Word
	}
	if r.Books != nil {
		table := report.NewTable("Product", "In", "Out", "Back", "There", "Sold", "Disagreement")
		for _, b := range r.Books.Rows {
			table.Add(b.Wrong != "", b.Name, b.In, b.Out, b.Back, b.There, b.Sold, b.Wrong)
		}
		s.Add(report.Part{Title: "The books", Table: table})
	}
	if r.Verdict != nil {
		table := report.NewTable("What must hold", "Broken", "For example")
		for _, i := range r.Verdict.Invariants {
			example := ""
			if len(i.Sample) > 0 {
				example = i.Sample[0]
			}
			table.Add(i.Violations > 0, i.Says, i.Violations, example)
		}
		s.Add(report.Part{Title: "The verdict", Says: r.Verdict.String(), Table: table})
	}
	if c := r.Compare; c != nil {
		rate := func(rate float64) string {
			if rate > 0 {
				return fmt.Sprintf("%.1f", rate)
			}
			return "not run yet"
		}
		table := report.NewTable("", "How", c.What)
		table.Add(false, catalogue.Broken, c.BrokenSays, rate(c.Broken))
		table.Add(false, catalogue.Fixed, c.FixedSays, rate(c.Fixed))
		s.Add(report.Part{Title: "The two rates", Table: table})
	}
	s.Add(
		chart("Orders answered per second", r.Samples, "all", "confirmed",
			func(s Sample) (float64, float64) { return s.OrdersPerS, s.Confirmed }),
		chart("Time to answer, in ms", r.Samples, "99 of 100 within", "half within",
			func(s Sample) (float64, float64) { return orAbsent(s.P99MS), orAbsent(s.P50MS) }),
	)
	broke := report.NewTable("What broke", "Where", "Fired", "Came to")
	for _, f := range r.Faults {
		times := strconv.Itoa(f.Fired) + "×"
		if !f.Counted && f.Fired > 0 {
			times = "struck"
		}
		broke.Add(false, f.What, f.Where, times, f.Status)
	}
	log := report.NewTable("After", "At", "What happened")
	for _, e := range r.Log {
		log.Add(false, fmt.Sprintf("%.2f s", float64(e.TMS)/1000), e.At.Format("15:04:05.000"), e.Text)
	}
	s.Add(report.Part{Title: "What broke", Table: broke}, report.Part{Title: "What happened", Table: log})
	return s
}

// orAbsent returns NaN for a time that is absent from a sample.
func orAbsent(ms float64) float64 {
	if ms == 0 {
		return math.NaN()
	}
	return ms
}

// chart draws two series over time.
func chart(title string, samples []Sample, first, second string, of func(Sample) (float64, float64)) report.Part {
	one := report.Line{Name: first, Style: report.Blue}
	two := report.Line{Name: second, Style: report.GreenDashed} // it may lie over the first
	for _, s := range samples {
		a, b := of(s)
		seconds := float64(s.TMS) / 1000
		one.Points = append(one.Points, report.Point{X: seconds, Y: a})
		two.Points = append(two.Points, report.Point{X: seconds, Y: b})
	}
	return report.Part{Title: title, Picture: report.Figure{
		Label: title, Columns: 1, Width: 440, Height: 120,
		Charts: []report.Chart{{Below: "seconds", Lines: []report.Line{one, two}}},
	}.SVG()}
}

// RecordOf makes the record of a run that another part of the load tester fired
// and judged. It reads the books as they are now.
func RecordOf(
	ctx context.Context, h *history.History, v *Verdict, databases verify.Databases, command string,
) (*Record, error) {
	stock, err := openReader(databases.StockDSN)
	if err != nil {
		return nil, err
	}
	defer func() { _ = stock.Close() }() // only read
	samples, m := replay(h)
	books, err := readBooks(ctx, stock, m.goods, m.acknowledged)
	if err != nil {
		return nil, err
	}
	books.cut()
	run := Run{
		ID: h.Run, StartedAt: h.Started.UTC(), Title: "orders fired", Seed: strconv.FormatUint(h.Seed, 10), Command: command,
	}
	return newRecord(run, v, books, samples, []Entry{}, []act.Strike{}), nil
}

// replay returns the samples of a history as a meter would have taken them, and the meter.
func replay(h *history.History) ([]Sample, *meter) {
	m := newMeter(newHub())
	m.Started(h)
	calls := slices.Clone(h.Calls)
	slices.SortFunc(calls, func(a, b history.Call) int { return int(a.Done - b.Done) })
	samples, end := []Sample{}, interval
	take := func(length time.Duration) {
		s := m.take(length)
		s.TMS = end.Milliseconds()
		samples = append(samples, s)
	}
	for _, call := range calls {
		for call.Done > end {
			take(interval)
			end += interval
		}
		m.End(&fire.Event{Call: call, Items: h.Items(int(call.Op))})
	}
	if rest := h.Elapsed - (end - interval); rest > interval/5 {
		end = h.Elapsed
		take(min(rest, interval))
	}
	return samples, m
}

// report sends the report of a run.
func (s *Server) report(w http.ResponseWriter, r *http.Request) {
	record, err := s.console.runs.load(r.PathValue("id"))
	if err != nil {
		reply(w, 0, nil, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", "orderstock-"+record.Row.ID+".html"))
	_ = WriteReport(w, record) // an error says that the client has gone
}
