package report

import (
	"fmt"
	"html/template"
	"io"
	"strings"
)

// Sheet is a report that is made of words, tables and pictures alone. All
// reports show their results in these parts.
type Sheet struct {
	Title string
	// Sentence and Word are the headline: the measurement, and PASS, VIOLATION,
	// UNKNOWN or another word for it; "" for none.
	Sentence, Word string
	Facts          []Fact
	Parts          []Part
}

// Fact is a name and its value. One without a value is left out.
type Fact struct{ Name, Value string }

// Part is a piece of a sheet under a heading.
type Part struct {
	Title, Says string
	// Picture is an SVG, made by this program.
	Picture template.HTML
	Table   *Table
}

// Table is a table with a row for each thing, named by its first cell.
type Table struct {
	Head []string
	Rows []Row
}

// Row is a row of a Table. Wrong marks what does not hold.
type Row struct {
	Cells []string
	Wrong bool
}

// Add appends a row.
func (t *Table) Add(wrong bool, cells ...any) {
	row := Row{Wrong: wrong}
	for _, cell := range cells {
		row.Cells = append(row.Cells, fmt.Sprint(cell))
	}
	t.Rows = append(t.Rows, row)
}

// Kind returns the class of the cells of column i: "number" if all of them begin with a digit and are short.
func (t *Table) Kind(i int) string {
	for _, row := range t.Rows {
		if i >= len(row.Cells) || row.Cells[i] == "" {
			continue
		}
		digits := strings.TrimLeft(row.Cells[i], "-−+")
		if digits == "" || digits[0] < '0' || digits[0] > '9' || len(digits) > longestNumber {
			return "words"
		}
	}
	return "number"
}

// longestNumber bounds a number with its unit or its error, or a time of day, in bytes.
const longestNumber = 16

// Body returns the sheet as the body of a page.
func (s Sheet) Body() (template.HTML, error) {
	var b strings.Builder
	if err := body.Execute(&b, s); err != nil {
		return "", fmt.Errorf("write report: %w", err)
	}
	return template.HTML(b.String()), nil // made by the template, which escapes
}

// Write writes the sheet to w as one HTML file that needs neither server nor network nor scripts.
func (s Sheet) Write(w io.Writer) error {
	still, err := s.Body()
	if err != nil {
		return err
	}
	return Page{Title: s.Title, Still: still}.Write(w)
}

// signs are the same as in the js/format.js of the console's page.
var signs = map[string][2]string{
	"PASS": {"✓", "good"}, "VIOLATION": {"✗", "bad"}, "UNKNOWN": {"?", "unsure"}, "NOT CAUGHT THIS TIME": {"○", "unsure"},
	"MISSED": {"✗", "bad"},
}

var body = template.Must(template.New("sheet").Funcs(template.FuncMap{
	"sign": func(word string) [2]string { return signs[strings.ToUpper(word)] },
}).Parse(`<article class="report">
<header><p class="what">{{.Title}}</p>
<h1><span class="sentence">{{.Sentence}}</span>{{with .Word}}{{$sign := sign .}} ` +
	`<span class="verdict {{index $sign 1}}"><span class="sign" aria-hidden="true">{{index $sign 0}}</span> ` +
	`{{.}}</span>{{end}}</h1></header>
<dl class="facts">{{range .Facts}}{{if .Value}}<div{{if eq .Name "Command"}} class="whole"{{end}}>` +
	`<dt>{{.Name}}</dt><dd>{{.Value}}</dd></div>{{end}}{{end}}</dl>
{{range .Parts}}<section><h2>{{.Title}}</h2>
{{with .Says}}<p>{{.}}</p>{{end}}
{{with .Picture}}<figure>{{.}}</figure>{{end}}
{{with .Table}}{{$table := .}}<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>
<thead><tr>{{range $i, $name := .Head}}<th scope="col" class="{{$table.Kind $i}}">{{$name}}</th>{{end}}</tr></thead>
<tbody>{{range .Rows}}<tr{{if .Wrong}} class="bad"{{end}}>{{range $i, $cell := .Cells}}` +
	`{{if $i}}<td class="{{$table.Kind $i}}">{{$cell}}</td>{{else}}<th scope="row" class="{{$table.Kind 0}}">` +
	`{{$cell}}</th>{{end}}{{end}}</tr>
{{end}}</tbody></table></div>{{end}}
</section>
{{end}}</article>
`))

// Bar is a value with its name.
type Bar struct {
	Name  string
	Value float64
}

// The size of a bar in SVG user units.
const barWidth, barHeight, barLabel = 640, 22, 260

// Bars draws values as bars beneath each other, the longest over the whole width.
func Bars(bars []Bar) template.HTML {
	var most float64
	for _, b := range bars {
		most = max(most, b.Value)
	}
	if most == 0 {
		return "<p>nothing to draw</p>"
	}
	var svg strings.Builder
	fmt.Fprintf(&svg,
		`<svg viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="The table has the same values">`,
		barWidth, barHeight*len(bars), barWidth, barHeight*len(bars))
	for i, b := range bars {
		y := i * barHeight
		fmt.Fprintf(&svg, `<text x="0" y="%d" fill="currentColor" font-size="13">%s</text>`,
			y+15, template.HTMLEscapeString(b.Name))
		fmt.Fprintf(&svg, `<rect class="value" x="%d" y="%d" width="%.1f" height="%d"/>`,
			barLabel, y+3, b.Value/most*(barWidth-barLabel-80), barHeight-6)
		fmt.Fprintf(&svg, `<text x="%d" y="%d" fill="currentColor" font-size="13" text-anchor="end">%.0f</text>`,
			barWidth, y+15, b.Value)
	}
	svg.WriteString("</svg>")
	return template.HTML(svg.String()) // numbers, and names that were escaped
}
