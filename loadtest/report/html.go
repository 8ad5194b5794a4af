package report

import (
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"orderstock/loadtest/texts"
)

// StyleFile is the style sheet of reports in Style. The console's page has it, too.
const StyleFile = "css/parts.css"

// Style holds StyleFile.
//
//go:embed css
var Style embed.FS

// Write writes the sheet to w as one HTML file that needs neither server nor network nor scripts. A translated sheet is
// there in each language, with a switch that follows the browser; without scripts it begins in English.
func (s Sheet) Write(w io.Writer) error {
	style, err := Style.ReadFile(StyleFile)
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	in := texts.Languages()
	if !s.Translated {
		in = in[:1]
	}
	if err := page.Execute(w, map[string]any{"Sheet": s, "Style": template.CSS(style), "Languages": in}); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// Save writes the sheet as Write does into a file, and makes its folder.
func (s Sheet) Save(file string) (err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return s.Write(f)
}

// signs are the same as in the page's js/format.js.
var signs = map[string][2]string{
	"PASS": {"✓", "good"}, "VIOLATION": {"✗", "bad"}, "UNKNOWN": {"?", "unsure"}, "NOT CAUGHT THIS TIME": {"○", "unsure"},
	"SLOW": {"◔", "unsure"},
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

// ofPicture matches the words in a picture.
var ofPicture = regexp.MustCompile(`(>|aria-label=")([^<>"]+)(</text>|")`)

// pictured says the words in a picture in a language.
func pictured(l *texts.Language, picture template.HTML) template.HTML {
	return template.HTML(ofPicture.ReplaceAllStringFunc(string(picture), func(found string) string {
		part := ofPicture.FindStringSubmatch(found)
		return part[1] + l.Document(part[2]) + part[3] // as escaped as before
	}))
}

//go:embed page.html
var pageFile string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"sign": func(word string) [2]string { return signs[strings.ToUpper(word)] }, "marked": marked,
	"pictured": pictured,
}).Parse(pageFile))
