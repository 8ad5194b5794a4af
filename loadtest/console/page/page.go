// Package page holds the console's page: static files that a browser takes as
// they are. There is no build step. The parts taken from npm lie under vendor
// as published.
//
// The page opens with index.html and js/main.js. Its css/parts.css lies in package
// report, whose sheet of a run it shows in the table of runs.
package page

import (
	"embed"
	"io/fs"

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
