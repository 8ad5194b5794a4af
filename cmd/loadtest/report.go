package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"orderstock/loadtest/console"
	"orderstock/loadtest/console/page"
	"orderstock/loadtest/faults"
	"orderstock/loadtest/history"
	"orderstock/loadtest/ladder"
	"orderstock/loadtest/locks"
	"orderstock/loadtest/verify"
)

// writeReport writes the report of a run that was judged.
func writeReport(
	ctx context.Context, file string, h *history.History, v *verify.Verdict, databases verify.Databases,
) error {
	record, err := console.RecordOf(ctx, h, v, databases, "loadtest "+strings.Join(os.Args[1:], " "))
	if err != nil {
		return err
	}
	return intoFile(file, func(w io.Writer) error { return console.WriteReport(w, record) })
}

// intoFile has write fill a file, and makes its folder.
func intoFile(file string, write func(io.Writer) error) (err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return write(f)
}

// ladderSheet returns the report of a ladder.
func ladderSheet(r *ladder.Result) (page.Sheet, error) {
	s := page.Sheet{
		Title: "The strategies of deduction beside one another", Word: ladderWord(r),
		Facts: []page.Fact{
			{Name: "Database", Value: r.Server}, {Name: "Machine", Value: r.Machine}, {Name: "Date", Value: r.Date},
		},
	}
	if len(r.Rows) > 0 {
		best := slices.MaxFunc(r.Rows, func(a, b ladder.Row) int { return cmp.Compare(a.DonePerS, b.DonePerS) })
		s.Sentence = fmt.Sprintf("%s: up to %.0f sales a second", best.Strategy, best.DonePerS)
	}
	var picture bytes.Buffer
	if err := r.Picture(&picture); err != nil {
		return s, err
	}
	table := &page.Table{Head: []string{
		"Strategy", "Path", "Replicas", "Products", "Clients", "Sales a second", "Refused a second", "p50 ms", "p99 ms",
		"Wake-ups", "Verdict",
	}}
	for _, row := range r.Rows {
		table.Add(row.Verdict != string(verify.Pass), row.Strategy, row.Path, row.Replicas, row.Goods, row.Clients,
			fmt.Sprintf("%.0f", row.DonePerS), fmt.Sprintf("%.0f", row.RejectedPerS), fmt.Sprintf("%.1f", row.P50MS),
			fmt.Sprintf("%.1f", row.P99MS), fmt.Sprintf("%.2f", row.WakeupsPerRelease), row.Verdict)
	}
	s.Parts = []page.Part{
		{
			Title:   "One product that everybody wants",
			Picture: template.HTML(picture.String()), // made by the ladder, which escapes
		},
		{Title: "Every row", Says: "Only ratios between rows of one run mean anything.", Table: table},
	}
	if len(r.Ratios) > 0 {
		ratios := &page.Table{Head: []string{"What the default strategy is held to", "Measured", "At least"}}
		for _, ratio := range r.Ratios {
			ratios.Add(!ratio.OK, ratio.Name, fmt.Sprintf("%.2f", ratio.Value), fmt.Sprintf("%.2f", ratio.Want))
		}
		s.Parts = append(s.Parts, page.Part{Title: "Ratios", Table: ratios})
	}
	return s, nil
}

// ladderWord returns the word for a ladder: that of the worst thing in it.
func ladderWord(r *ladder.Result) string {
	err := r.Judge(false)
	switch _, failed := errors.AsType[ladder.Failure](err); {
	case failed:
		return "VIOLATION"
	case err != nil:
		return "UNKNOWN"
	case r.Judge(true) != nil:
		return "MISSED"
	}
	return "PASS"
}

// faultsSheet returns the report of a fault matrix.
func faultsSheet(r *faults.Report) page.Sheet {
	s := page.Sheet{
		Title:    "The fault matrix: each step of an order, broken before and after",
		Sentence: fmt.Sprintf("%d runs, %d orders, %d faults fired", r.Total.Runs, r.Total.Orders, r.Total.Fired),
		Word:     strings.ToUpper(string(r.Verdict)),
		Facts: []page.Fact{
			{Name: "Seeds of each cell", Value: fmt.Sprint(r.Seeds)},
			{Name: "Violations", Value: fmt.Sprint(r.Total.Violations)},
			{Name: "Orders without an end", Value: fmt.Sprint(r.Total.Unsettled)},
			{Name: "Runs that prove nothing", Value: fmt.Sprint(r.Total.Unknown)},
			{Name: "Took", Value: fmt.Sprintf("%.0f s", r.Total.Seconds)},
		},
	}
	table := &page.Table{Head: []string{
		"Fault", "Runs", "Fired", "Orders", "Confirmed", "Refused", "Violations", "No end", "Settled within, ms",
		"Verdict",
	}}
	var bars []page.Bar
	for _, c := range r.Cells {
		name := c.Step + "/" + c.When + "/" + c.Fault
		table.Add(c.Verdict != string(verify.Pass), name, c.Runs, c.Fired, c.Orders, c.OK, c.Rejected, c.Violations,
			c.Unsettled, fmt.Sprintf("%.0f", c.SettleP99MS), c.Verdict)
		bars = append(bars, page.Bar{Name: name, Value: c.SettleP99MS})
	}
	slices.SortFunc(bars, func(a, b page.Bar) int { return cmp.Compare(b.Value, a.Value) })
	not := &page.Table{Head: []string{"Cell", "Why it means nothing"}}
	for _, c := range r.NotApplicable {
		not.Add(false, c.Name(), c.NA)
	}
	s.Parts = []page.Part{
		{
			Title:   "Longest until the last orders had ended",
			Says:    "The time after the repair within which 99 of 100 open orders had ended, in ms.",
			Picture: page.Bars(bars[:min(len(bars), 12)]),
		},
		{Title: "Every cell", Table: table},
		{Title: "Cells that do not apply", Table: not},
	}
	return s
}

// locksSheet returns the report of a measurement of locks.
func locksSheet(rows []locks.Row) page.Sheet {
	s := page.Sheet{Title: "ZooKeeper locks beside each other"}
	if locks.PrintTargets(io.Discard, rows) {
		s.Word = "MISSED"
	}
	table := &page.Table{Head: []string{
		"Lock", "Processes", "Contenders", "Paths", "A second", "p50 ms", "p99 ms", "Wake-ups for each release",
	}}
	shapes := map[string][]page.Bar{}
	var names []string
	for _, r := range rows {
		table.Add(false, r.Lock, r.Processes, r.Contenders, r.Paths, fmt.Sprintf("%.0f", r.PerSecond),
			fmt.Sprintf("%.3f", r.P50), fmt.Sprintf("%.3f", r.P99), fmt.Sprintf("%.2f", r.WakeupsPerRelease))
		shape := fmt.Sprintf("%d processes, %d contenders, %d paths", r.Processes, r.Contenders, r.Paths)
		if !slices.Contains(names, shape) {
			names = append(names, shape)
		}
		shapes[shape] = append(shapes[shape], page.Bar{Name: r.Lock, Value: r.PerSecond})
	}
	if len(rows) > 0 {
		best := slices.MaxFunc(rows, func(a, b locks.Row) int { return cmp.Compare(a.PerSecond, b.PerSecond) })
		s.Sentence = fmt.Sprintf("%s: up to %.0f locks a second", best.Lock, best.PerSecond)
	}
	for _, name := range names {
		s.Parts = append(s.Parts, page.Part{
			Title: name, Says: "Locks taken and released a second.", Picture: page.Bars(shapes[name]),
		})
	}
	s.Parts = append(s.Parts, page.Part{Title: "Every row", Table: table})
	return s
}
