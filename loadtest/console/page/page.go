// Package page holds the console's page: static files that a browser takes as
// they are. There is no build step. The parts taken from npm lie under vendor
// as published.
//
// The page opens with index.html and js/main.js. Its css/parts.css lies in package
// report. js/format.js and js/parts.js are shared with the report, js/report.js: its
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

	"orderstock/loadtest/report"
)

//go:embed index.html css js vendor
var files embed.FS

// Files returns the files of the page; index.html is at the root.
func Files() fs.FS { return site{} }

// site is files with css/parts.css, which the page shares with all reports.
type site struct{}

func (site) Open(name string) (fs.File, error) {
	if name == report.StyleFile {
		return report.Style.Open(name)
	}
	return files.Open(name)
}

// WriteReport writes a report of a run, as GET /api/runs/{id} answers it: one HTML file that needs neither server nor
// network. It shows still if scripts are off; otherwise the script replaces it. WriteReport returns an error if the
// record cannot be encoded or w cannot be written.
func WriteReport(w io.Writer, title string, record any, still template.HTML) error {
	data, err := json.Marshal(record) // escapes <, > and &, so it cannot end the script element
	if err != nil {
		return fmt.Errorf("encode report: %w", err)
	}
	script, err := reportScript()
	if err != nil {
		return err
	}
	return report.Page{Title: title, Still: still, Data: template.JS(data), Script: template.JS(script)}.Write(w)
}

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
