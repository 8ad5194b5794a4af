package ladder

import (
	"cmp"
	"html/template"
	"slices"

	"orderstock/loadtest/history"
	"orderstock/loadtest/report"
)

// hot returns the rows of one hot product and one replica, by ascending clients.
func (r *Result) hot() []Row {
	rows := slices.DeleteFunc(slices.Clone(r.Rows), func(row Row) bool {
		return row.Goods != 1 || row.Replicas != 1 || row.SellOut
	})
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(a.Clients, b.Clients) })
	return rows
}

// strategies draws a ladder: for each path, throughput by clients and p99 latency by clients, both on log scales, with
// a line for each strategy, for one hot product and one replica.
func (r *Result) strategies() template.HTML {
	rows := r.hot()
	names := distinct(r.Rows, func(row Row) string { return row.Strategy })
	f := report.Figure{
		Title: "One hot product: sales of each strategy, and waiting time of a buyer",
		Facts: []string{r.Server, r.Machine, r.Date}, Columns: 2, Width: 430, Height: 260,
	}
	for _, path := range distinct(rows, func(row Row) history.Path { return row.Path }) {
		load := "whole orders"
		if path == history.PathDeduct {
			load = "the deduction call alone"
		}
		for _, panel := range []struct {
			title string
			value func(Row) float64
		}{
			{load + ": sales per second", func(row Row) float64 { return row.DonePerS }},
			{load + ": p99 latency, ms", func(row Row) float64 { return row.P99MS }},
		} {
			c := report.Chart{Title: panel.title, Below: "clients", Log: true}
			for style, s := range names {
				l := report.Line{Name: s, Style: style}
				for _, row := range rows {
					if v := panel.value(row); row.Path == path && row.Strategy == s && v > 0 {
						l.Points = append(l.Points, report.Point{X: float64(row.Clients), Y: v})
					}
				}
				c.Lines = append(c.Lines, l)
			}
			f.Charts = append(f.Charts, c)
		}
	}
	return f.SVG()
}
