package console

import (
	"embed"
	"io/fs"
	"path"

	"orderstock/loadtest/report"
)

// files are the console's page: static files that a browser takes as they are. There is no build step. The parts taken
// from npm lie under vendor as published. The page opens with index.html and js/main.js.
//
//go:embed page
var files embed.FS

// Page returns the files of the page; index.html is at the root. Reports use its css/parts.css, too.
func Page() fs.FS { return site{} }

type site struct{}

// Open implements fs.FS.
func (site) Open(name string) (fs.File, error) {
	if name == report.StyleFile {
		return report.Style.Open(name)
	}
	return files.Open(path.Join("page", name))
}
