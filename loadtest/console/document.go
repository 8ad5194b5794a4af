package console

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"

	"orderstock/loadtest/faults"
	"orderstock/loadtest/tables"
)

//go:embed document.html
var documentFile string

var document = template.Must(template.New("document").Parse(documentFile))

// markdown renders the repository's own documents, which hold line breaks and comments in HTML.
var markdown = goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithRendererOptions(html.WithUnsafe()))

// inRepository matches a link to a file of the repository, which the console does not serve.
var inRepository = regexp.MustCompile("\\[(`[^`]+`)\\]\\((?:\\.\\./)+([^)]+)\\)")

// faultPage sends the page of a fault. Links to code become the files' paths.
func faultPage(w http.ResponseWriter, r *http.Request) {
	f, err := tables.Find(r.PathValue("letter"))
	if err != nil {
		reply(w, 0, nil, notFound("%v", err))
		return
	}
	text, err := faults.Pages.ReadFile(strings.ToLower(f.Letter) + ".md")
	if err != nil {
		reply(w, 0, nil, fmt.Errorf("read page: %w", err))
		return
	}
	var body bytes.Buffer
	if err := markdown.Convert(inRepository.ReplaceAll(text, []byte("$1 in `$2`")), &body); err != nil {
		reply(w, 0, nil, fmt.Errorf("render page: %w", err))
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = document.Execute(w, map[string]any{ // an error says that the client has gone
		"Letter": f.Letter, "Title": f.Title, "Body": template.HTML(body.String()),
	})
}
