package report

import (
	"embed"
	"fmt"
	"html/template"
	"io"
)

// StyleFile is the style sheet of reports in Style. The console's page has it, too.
const StyleFile = "css/parts.css"

// Style holds StyleFile.
//
//go:embed css
var Style embed.FS

// Page is one HTML file that needs neither server nor network.
type Page struct {
	Title string
	// Still is the page without scripts.
	Still template.HTML
	// Script, if not empty, is a module that replaces Still. It finds Data, which is JSON, in the element report-data.
	Data, Script template.JS
}

// Write writes the page to w.
func (p Page) Write(w io.Writer) error {
	style, err := Style.ReadFile(StyleFile)
	if err != nil {
		return fmt.Errorf("read style: %w", err)
	}
	err = paper.Execute(w, map[string]any{
		"Title": p.Title, "Still": p.Still, "Style": template.CSS(style), "Data": p.Data, "Script": p.Script,
	})
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

var paper = template.Must(template.New("report").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}}</title>
<style>
{{.Style}}</style>
</head>
<body>
<main id="report" class="sheet-of-paper">{{.Still}}</main>
{{if .Script}}<script type="application/json" id="report-data">{{.Data}}</script>
<script type="module">
{{.Script}}</script>
{{end}}</body>
</html>
`))
