package console

import (
	"fmt"
	"html/template"
	"io"
	"net/http"
	"strings"

	"orderstock/loadtest/console/page"
)

// WriteReport writes a record as one HTML file that needs neither server nor
// network. Where scripts are off it shows the same figures, with the charts as SVG.
func WriteReport(w io.Writer, r *Record) error {
	var still strings.Builder
	if err := stillSheet.Execute(&still, map[string]any{
		"Row": r.Row, "Hero": r.Hero, "Verdict": r.Verdict, "Books": r.Books, "Faults": r.Faults,
		"Rate":    chart(r.Samples, func(s Sample) float64 { return s.OrdersPerS }),
		"Latency": chart(r.Samples, func(s Sample) float64 { return s.P99MS }),
	}); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return page.WriteReport(w, page.Report{
		Title: r.Row.Title + ", " + r.Row.Verdict, Record: r,
		Still: template.HTML(still.String()), // made by the template above, which escapes
	})
}

var stillSheet = template.Must(template.New("still").Parse(`
<h1>{{with .Hero}}{{.Sentence}} — {{.Word}}{{end}}</h1>
<p>{{.Row.Title}}{{with .Row.Variant}}, {{.}}{{end}}; seed {{.Row.Seed}}; {{.Row.At.Format "2006-01-02 15:04:05"}} UTC</p>
{{with .Verdict}}<p>{{.String}}</p>
<ul>{{range .Invariants}}{{if .Violations}}<li><b>{{.Name}}</b>: {{.Violations}} times not so: {{.Says}}{{range .Sample}}<br>{{.}}{{end}}</li>{{end}}{{end}}</ul>{{end}}
{{with .Books}}<table><caption>The books</caption>
<thead><tr><th>product</th><th>in</th><th>out</th><th>back</th><th>there</th><th>told</th><th></th></tr></thead>
<tbody>{{range .Rows}}<tr><th>{{.Goods}}</th><td>{{.In}}</td><td>{{.Out}}</td><td>{{.Back}}</td><td>{{.There}}</td><td>{{.Told}}</td><td>{{.Wrong}}</td></tr>{{end}}</tbody></table>{{end}}
<figure><figcaption>Orders a second</figcaption>{{.Rate}}</figure>
<figure><figcaption>p99 of the latency, in ms</figcaption>{{.Latency}}</figure>
{{with .Faults}}<ul>{{range .}}<li>{{.What}} {{.Where}}: {{.Status}}, fired {{.Fired}} times</li>{{end}}</ul>{{end}}
`))

// The size of a chart in a report without scripts.
const chartWidth, chartHeight = 640, 120

// chart draws one series as a line, with its highest value in words.
func chart(samples []Sample, of func(Sample) float64) template.HTML {
	var highest float64
	var last int64
	for _, s := range samples {
		highest, last = max(highest, of(s)), max(last, s.TMS)
	}
	if highest == 0 || last == 0 {
		return "<p>no sample</p>"
	}
	var points strings.Builder
	for _, s := range samples {
		x := float64(s.TMS) / float64(last) * chartWidth
		y := chartHeight - of(s)/highest*chartHeight
		fmt.Fprintf(&points, "%.1f,%.1f ", x, y)
	}
	return template.HTML(fmt.Sprintf( // numbers only
		`<svg viewBox="0 -4 %d %d" width="%d" height="%d" role="img" aria-label="highest %.0f, over %.1f s">`+
			`<polyline points="%s" fill="none" stroke="currentColor" stroke-width="2"/></svg><p>highest %.0f, over %.1f s</p>`,
		chartWidth, chartHeight+8, chartWidth, chartHeight+8, highest, float64(last)/1000, points.String(), highest, float64(last)/1000))
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
