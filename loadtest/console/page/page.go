// Package page holds the console's page: static files that a browser takes as
// they are. There is no build step. The parts taken from npm lie under vendor
// as published.
//
// The page opens with index.html and js/main.js. css/parts.css, js/format.js
// and js/parts.js are shared with the report, which is js/report.js: its
// function renderReport makes the sheet of a run from the answer of
// GET /api/runs/{id}. The page calls it in the table of runs, and WriteReport
// puts it with its data into one HTML file.
package page

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"regexp"
	"strings"
)

//go:embed index.html css js vendor
var files embed.FS

// Files returns the files of the page; index.html is at the root.
func Files() fs.FS { return files }

// Report is one HTML file that needs neither server nor network.
type Report struct {
	Title string
	// Record is encoded as JSON: a run as GET /api/runs/{id} answers it. Without
	// one the file has no script.
	Record any
	// Still is shown if scripts are off: the verdict in words, the books, the
	// charts as SVG. The script replaces it.
	Still template.HTML
}

// WriteReport writes r to w. It returns an error if the record cannot be
// encoded or w cannot be written.
func WriteReport(w io.Writer, r Report) error {
	if r.Record == nil {
		return write(w, r, "", "")
	}
	data, err := json.Marshal(r.Record) // escapes <, > and &, so it cannot end the script element
	if err != nil {
		return fmt.Errorf("encode report: %w", err)
	}
	script, err := reportScript()
	if err != nil {
		return err
	}
	return write(w, r, string(data), script)
}

func write(w io.Writer, r Report, data, script string) error {
	style, err := files.ReadFile("css/parts.css")
	if err != nil {
		return fmt.Errorf("read style: %w", err)
	}
	err = paper.Execute(w, map[string]any{
		"Title": r.Title, "Still": r.Still,
		"Style": template.CSS(style), "Data": template.JS(data), "Script": template.JS(script),
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

// reportModules are the modules of the report in the order of their imports.
var reportModules = []string{"js/format.js", "js/parts.js", "js/report.js"}

// linkage matches what ties modules together. A single script needs none of it.
var linkage = regexp.MustCompile(`(?ms)^import .*?;\n|^export `)

// reportScript returns the modules of the report as one script. A file opened
// from a disk cannot import another.
func reportScript() (string, error) {
	var all strings.Builder
	for _, name := range reportModules {
		text, err := files.ReadFile(name)
		if err != nil {
			return "", fmt.Errorf("read script: %w", err)
		}
		all.WriteString(linkage.ReplaceAllString(string(text), ""))
	}
	return all.String(), nil
}
