// Package report describes the result of an experiment once, as a Sheet, and renders it: as a page of HTML, as Markdown
// for a document, and its tables as text. Figures are its charts.
package report

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Sheet is a result in words, tables and pictures.
type Sheet struct {
	Title string
	// Sentence and Word are the headline: the measurement, and PASS, VIOLATION, UNKNOWN or another word for it; "" for
	// none.
	Sentence, Word string
	// On names the servers and the machine that the figures hold for; "" if they hold anywhere.
	On    string
	Facts []Fact
	Parts []Part
	// Translated says that package texts has the words of the sheet in each language.
	Translated bool
}

// Fact is a name and its value. One without a value is left out.
type Fact struct{ Name, Value string }

// Part is a piece of a sheet. Its words, and the cells of its table, may hold `code` and **strong**, as in Markdown.
type Part struct {
	// Title is the heading. Documents have other headings.
	Title string
	Says  string
	// Text is shown as it is, with its lines.
	Text  string
	Table *Table
	// Picture is an SVG, made by this program. In a document it is File, with the text Alt in its place.
	Picture   template.HTML
	File, Alt string
	// Detail leaves the part out of documents, and Folded shows its title alone on a page until it is opened.
	Detail, Folded bool
}

// Add appends the parts that have something to show: words alone, a picture, or a table with rows.
func (s *Sheet) Add(parts ...Part) {
	for _, p := range parts {
		if p.Table == nil || len(p.Table.Rows) > 0 || p.Picture != "" {
			s.Parts = append(s.Parts, p)
		}
	}
}

// Table is a table with a row for each thing, named by its first cell.
type Table struct {
	Head []string
	Rows []Row

	follow io.Writer // see Follow
}

// Row is a row of a Table. Wrong marks what does not hold.
type Row struct {
	Cells []string
	Wrong bool
}

// Unless returns the verdict, for a cell after other words, unless it is pass.
func Unless[V ~string](verdict V) string {
	if verdict == "pass" {
		return ""
	}
	return " **(" + string(verdict) + ")**"
}

// NewTable returns a table without rows.
func NewTable(head ...string) *Table { return &Table{Head: head} }

// Add appends a row. It writes numbers as English does.
func (t *Table) Add(wrong bool, cells ...any) {
	row := Row{Wrong: wrong}
	for _, cell := range cells {
		row.Cells = append(row.Cells, English.Sprint(cell))
	}
	t.Rows = append(t.Rows, row)
	t.print(row.Cells)
}

// TableOf returns a table with a row for each of rows, which are structs or point to structs. Its columns are fields,
// also of embedded structs: the tag col is a field's heading, and the tag fmt formats its cells; for a time it is a
// layout. Without columns, the table has all fields with a heading. True is "yes", false is empty, nil is "–", and
// words are separated by commas. A row whose method Wrong returns true is marked.
func TableOf[R any](rows []R, columns ...string) *Table {
	if len(columns) == 0 {
		columns = headings(reflect.TypeFor[R]())
	}
	t := NewTable(columns...)
	for _, row := range rows {
		t.AddRow(row)
	}
	return t
}

// headings returns the tags col of a struct, or of the struct that a pointer leads to.
func headings(row reflect.Type) (all []string) {
	if row.Kind() == reflect.Pointer {
		row = row.Elem()
	}
	for _, field := range reflect.VisibleFields(row) {
		if name := field.Tag.Get("col"); name != "" {
			all = append(all, name)
		}
	}
	return all
}

// AddRow appends a row to a table of TableOf.
func (t *Table) AddRow(row any) {
	value, cells := reflect.Indirect(reflect.ValueOf(row)), make([]any, len(t.Head))
	for _, field := range reflect.VisibleFields(value.Type()) {
		name := field.Tag.Get("col")
		i := slices.IndexFunc(t.Head, func(head string) bool { return strings.TrimSpace(head) == name })
		if name != "" && i >= 0 {
			cells[i] = cell(value.FieldByIndex(field.Index), field.Tag.Get("fmt"))
		}
	}
	marked, can := row.(interface{ Wrong() bool })
	t.Add(can && marked.Wrong(), cells...)
}

// cell returns the text of a field.
func cell(field reflect.Value, format string) string {
	if field.Kind() == reflect.Pointer && field.IsNil() {
		return "–"
	}
	switch v := reflect.Indirect(field).Interface().(type) {
	case bool:
		return map[bool]string{true: "yes"}[v]
	case []string:
		return strings.Join(v, ", ")
	case time.Time:
		return v.Format(cmp.Or(format, time.DateTime))
	default:
		if strings.HasSuffix(format, "g") { // the printer counts its digits otherwise
			return fmt.Sprintf(format, v)
		}
		return English.Sprintf(cmp.Or(format, "%v"), v)
	}
}

// Follow prints the head to w, and each further row as it is added. A column is as wide as its head, and the first one
// as wide as first.
func (t *Table) Follow(w io.Writer, first int) {
	t.follow, t.Head[0] = w, fmt.Sprintf("%-*s", first, t.Head[0])
	t.print(t.Head)
}

func (t *Table) print(cells []string) {
	if t.follow == nil {
		return
	}
	for i, cell := range cells {
		fmt.Fprintf(t.follow, "%-*s  ", max(len(t.Head[i]), 6), plain.Replace(cell))
	}
	fmt.Fprintln(t.follow)
}

// Kind returns the class of the cells of column i: "number" if all of them begin with a digit and are short.
func (t *Table) Kind(i int) string {
	for _, row := range t.Rows {
		if i >= len(row.Cells) || row.Cells[i] == "" {
			continue
		}
		digits := strings.TrimLeft(row.Cells[i], "-−+")
		if digits == "" || digits[0] < '0' || digits[0] > '9' || len(digits) > longestNumber {
			return "words"
		}
	}
	return "number"
}

// longestNumber bounds a number with its unit or its error, or a time of day, in bytes.
const longestNumber = 16

// plain removes the marks of code and strong.
var plain = strings.NewReplacer("`", "", "**", "")

// Text prints the table in columns; nothing if it has no rows.
func (t *Table) Text(w io.Writer) error {
	if len(t.Rows) == 0 {
		return nil
	}
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(cells []string) {
		fmt.Fprintln(columns, strings.TrimRight(plain.Replace(strings.Join(cells, "\t")), "\t"))
	}
	line(t.Head)
	for _, row := range t.Rows {
		line(row.Cells)
	}
	if err := columns.Flush(); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	return nil
}

// Draw writes the pictures that have a file into the folder dir, and returns the files' paths.
func (s Sheet) Draw(dir string) (files []string, err error) {
	for _, p := range s.Parts {
		if p.File == "" {
			continue
		}
		files = append(files, filepath.Join(dir, p.File))
		if err := os.WriteFile(files[len(files)-1], []byte(p.Picture), 0o644); err != nil {
			return nil, fmt.Errorf("draw %s: %w", p.File, err)
		}
	}
	return files, nil
}

// Text prints the headline and the facts, then the tables in columns, each after an empty line, without the details.
func (s Sheet) Text(w io.Writer) error {
	if s.Sentence != "" {
		fmt.Fprintln(w, strings.TrimSuffix(s.Sentence+": "+s.Word, ": "))
	}
	for _, f := range s.Facts {
		if f.Value != "" {
			fmt.Fprintf(w, "%s: %s\n", f.Name, f.Value)
		}
	}
	for _, p := range s.Parts {
		if p.Table == nil || p.Detail {
			continue
		}
		fmt.Fprintln(w)
		if err := p.Table.Text(w); err != nil {
			return err
		}
	}
	return nil
}

// Markdown returns the sheet as a part of a document. It begins with when it was measured.
func (s Sheet) Markdown(measured string) string {
	if s.On != "" {
		measured += "\non " + s.On
	}
	blocks := []string{measured + "."}
	for _, p := range s.Parts {
		if p.Detail {
			continue
		}
		if p.Says != "" {
			blocks = append(blocks, p.Says)
		}
		if p.Table != nil {
			blocks = append(blocks, p.Table.Markdown())
		}
		if p.File != "" {
			blocks = append(blocks, fmt.Sprintf("![%s](%s)", p.Alt, p.File))
		}
	}
	return strings.Join(blocks, "\n\n") + "\n"
}

// Markdown returns the table in Markdown.
func (t *Table) Markdown() string {
	line := func(cells []string) string {
		var b strings.Builder
		for _, cell := range cells {
			b.WriteString(" |")
			if cell != "" {
				b.WriteString(" " + strings.ReplaceAll(cell, "|", `\|`))
			}
		}
		return strings.TrimPrefix(b.String(), " ") + " |"
	}
	rule := make([]string, len(t.Head))
	for i := range rule {
		rule[i] = map[string]string{"words": "---", "number": "--:"}[t.Kind(i)]
	}
	lines := []string{line(t.Head), line(rule)}
	for _, row := range t.Rows {
		lines = append(lines, line(row.Cells))
	}
	return strings.Join(lines, "\n")
}
