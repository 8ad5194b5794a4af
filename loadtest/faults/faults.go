// Package faults holds a page for each published fault, a.md to q.md: its story, a recorded run of both variants, and
// how it is right here. "make readme" writes them.
package faults

import "embed"

// Pages are the pages, in Markdown.
//
//go:embed *.md
var Pages embed.FS
