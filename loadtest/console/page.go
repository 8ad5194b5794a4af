package console

import (
	"embed"
	"io/fs"
	"path"

	"orderstock/loadtest/report"
	"orderstock/loadtest/texts"
)

// files are the console's page: static files that a browser takes as they are. There is no build step. The parts taken
// from npm lie under vendor as published. The page opens with index.html and js/main.js.
//
//go:embed page
var files embed.FS

// Page returns the files of the page; index.html is at the root. Its css/parts.css is the reports', its texts are
// the package texts'.
func Page() fs.FS { return site{} }

type site struct{}

// Open implements fs.FS.
func (site) Open(name string) (fs.File, error) {
	switch {
	case name == report.StyleFile:
		return report.Style.Open(name)
	case path.Dir(name) == "texts":
		return texts.Files.Open(path.Base(name))
	}
	return files.Open(path.Join("page", name))
}
