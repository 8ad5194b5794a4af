package report

import (
	"fmt"
	"html/template"
	"io"
	"regexp"
	"strings"
)

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

// signs are the same as in the page's js/format.js.
var signs = map[string][2]string{
	"PASS": {"✓", "good"}, "VIOLATION": {"✗", "bad"}, "UNKNOWN": {"?", "unsure"}, "NOT CAUGHT THIS TIME": {"○", "unsure"},
}

// code and strong find the marks that words may hold.
var (
	code   = regexp.MustCompile("`([^`]+)`")
	strong = regexp.MustCompile(`\*\*([^*]+)\*\*`)
)

// marked returns words with their marks as elements.
func marked(words string) template.HTML {
	text := code.ReplaceAllString(template.HTMLEscapeString(words), "<code>$1</code>")
	return template.HTML(strong.ReplaceAllString(text, "<b>$1</b>")) // the words were escaped
}

var body = template.Must(template.New("sheet").Funcs(template.FuncMap{
	"sign": func(word string) [2]string { return signs[strings.ToUpper(word)] }, "marked": marked,
}).Parse(`<article class="report">
<header><p class="what">{{.Title}}</p>
<h1><span class="sentence">{{.Sentence}}</span>{{with .Word}}{{$sign := sign .}} ` +
	`<span class="verdict {{index $sign 1}}"><span class="sign" aria-hidden="true">{{index $sign 0}}</span> ` +
	`{{.}}</span>{{end}}</h1></header>
<dl class="facts">{{with .On}}<div class="whole"><dt>On</dt><dd>{{.}}</dd></div>{{end}}` +
	`{{range .Facts}}{{if .Value}}<div{{if eq .Name "Command"}} class="whole"{{end}}>` +
	`<dt>{{.Name}}</dt><dd>{{.Value}}</dd></div>{{end}}{{end}}</dl>
{{range .Parts}}<section><h2>{{.Title}}</h2>
{{with .Says}}<p>{{marked .}}</p>{{end}}
{{with .Picture}}<figure>{{.}}</figure>{{end}}
{{with .Table}}{{$table := .}}<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>
<thead><tr>{{range $i, $name := .Head}}<th scope="col" class="{{$table.Kind $i}}">{{$name}}</th>{{end}}</tr></thead>
<tbody>{{range .Rows}}<tr{{if .Wrong}} class="bad"{{end}}>{{range $i, $cell := .Cells}}` +
	`{{if $i}}<td class="{{$table.Kind $i}}">{{marked $cell}}</td>{{else}}<th scope="row" class="{{$table.Kind 0}}">` +
	`{{marked $cell}}</th>{{end}}{{end}}</tr>
{{end}}</tbody></table></div>{{end}}
</section>
{{end}}</article>
`))
