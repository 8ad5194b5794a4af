package console

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"

	"orderstock/loadtest/faults"
	"orderstock/loadtest/tables"
	"orderstock/loadtest/texts"
)

//go:embed document.html
var documentFile string

var document = template.Must(template.New("document").Parse(documentFile))

// markdown renders the repository's own documents, which hold line breaks and comments in HTML. The page allows no
// style in its cells.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
	goldmark.WithRendererOptions(html.WithUnsafe()),
)

// inRepository matches a link to a file of the repository, which the console does not serve.
var inRepository = regexp.MustCompile("\\[(`[^`]+`)\\]\\((?:\\.\\./)+([^)]+)\\)")

// faultPage sends the page of a fault under the name of its file, in the language of that; a letter alone is the
// English one. Links to code become the files' paths.
func faultPage(w http.ResponseWriter, r *http.Request) {
	letter, end, _ := strings.Cut(r.PathValue("page"), ".")
	f, err := tables.Find(letter)
	if err != nil {
		reply(w, 0, nil, notFound("%v", err))
		return
	}
	english := path.Base(f.PageFile())
	file := strings.ToLower(f.Letter) + "." + cmp.Or(end, "md")
	of := slices.IndexFunc(texts.Languages(), func(l *texts.Language) bool { return l.File(english) == file })
	if of < 0 {
		reply(w, 0, nil, notFound("there is no page %q; there is %s", r.PathValue("page"), english))
		return
	}
	text, err := faults.Pages.ReadFile(file)
	if err != nil {
		reply(w, 0, nil, fmt.Errorf("read page: %w", err))
		return
	}
	var body bytes.Buffer
	if err := markdown.Convert(inRepository.ReplaceAll(text, []byte("$1 `$2`")), &body); err != nil {
		reply(w, 0, nil, fmt.Errorf("render page: %w", err))
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = document.Execute(w, map[string]any{ // an error says that the client has gone
		"In": texts.Languages()[of], "Letter": f.Letter, "Title": f.Title, "Body": template.HTML(body.String()),
	})
}
