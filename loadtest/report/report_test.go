package report_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"orderstock/loadtest/report"
)

// One description has the same words in all renderings, and each escapes what its format would read.
func TestRenderings(t *testing.T) {
	table := report.NewTable("name", "found")
	table.Add(true, "`a|b` <c>", "3 **missed**")
	table.Add(false, "d", 14)
	s := report.Sheet{Sentence: "one of two", Word: "VIOLATION"}
	s.Add(report.Part{Says: "`x` of <y>", Table: table}, report.Part{Title: "empty", Table: report.NewTable("none")})
	var html strings.Builder
	if err := s.Write(&html); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := s.Text(&text); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ got, want string }{
		{html.String(), "<code>x</code> of &lt;y&gt;"},
		{html.String(), `<tr class="bad"><th scope="row" class="words"><code>a|b</code> &lt;c&gt;</th>` +
			`<td class="number">3 <b>`},
		{s.Markdown("Measured"), "Measured.\n\n`x` of <y>\n\n" +
			"| name | found |\n| --- | --: |\n| `a\\|b` <c> | 3 **missed** |\n"},
		{text.String(), "one of two: VIOLATION\n\nname     found\na|b <c>  3 missed\nd        14\n"},
	} {
		if !strings.Contains(c.got, c.want) {
			t.Errorf("no %q in\n%s", c.want, c.got)
		}
	}
	if strings.Contains(html.String(), "<h2>empty") {
		t.Error("a part with nothing to show has a heading")
	}
}

type counts struct {
	Sold int `col:"Sold"`
}

type product struct {
	Name string `col:"Product"`
	counts
	hidden int
	Shares []string  `col:"Shares"`
	LateS  *float64  `col:"Late, s" fmt:"%.1f"`
	Ended  bool      `col:"Ended"`
	At     time.Time `col:"At" fmt:"15:04:05.000"`
}

func (p *product) Wrong() bool { return p.hidden > 0 }

// A table of structs has their tags as its head, in the order of the fields or as it is asked for.
func TestTableOfStructs(t *testing.T) {
	late := 1.25
	rows := []*product{
		{Name: "pen", counts: counts{3}, Shares: []string{"a", "b"}, LateS: &late, Ended: true}, {Name: "cup", hidden: 1},
	}
	all := report.TableOf(rows)
	if got, want := all.Markdown(), "| Product | Sold | Shares | Late, s | Ended | At |\n"+
		"| --- | --: | --- | --- | --- | --: |\n"+
		"| pen | 3 | a, b | 1.2 | yes | 00:00:00.000 |\n| cup | 0 | | – | | 00:00:00.000 |"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if all.Rows[0].Wrong || !all.Rows[1].Wrong {
		t.Errorf("the rows are marked %v", all.Rows)
	}
	var text strings.Builder
	err := report.TableOf(rows, "Sold", "Product").Text(&text)
	if want := "Sold  Product\n3     pen\n0     cup\n"; err != nil || text.String() != want {
		t.Errorf("%q, %v; want %q", &text, err, want)
	}
}

func TestFigureHasGapsAndALabel(t *testing.T) {
	line := report.Line{Name: "a<b"}
	for x, y := range []float64{1, 2, math.NaN(), 4, math.NaN(), 6, 7} {
		line.Points = append(line.Points, report.Point{X: float64(x), Y: y})
	}
	svg := string(report.Figure{
		Label: "q>p", Columns: 1, Width: 100, Height: 50, Charts: []report.Chart{{Lines: []report.Line{line}}},
	}.SVG())
	_, path, _ := strings.Cut(svg, `<path d="`)
	path, _, _ = strings.Cut(path, `"`)
	if strings.Count(path, "M") != 3 || strings.Count(path, "h") != 1 ||
		!strings.Contains(svg, `role="img" aria-label="q&gt;p"`) || !strings.Contains(svg, ">a&lt;b</text>") {
		t.Errorf("want a line in three pieces, one of them a dot, a label and a name: %s", svg)
	}
}

// TestNumbersHaveCommas wherever a person reads them, but not below a thousand.
func TestNumbersHaveCommas(t *testing.T) {
	for rate, want := range map[float64]string{4.55: "4.5", 53: "53.0", 99.94: "99.9", 929.3: "929", 1234: "1,234"} {
		if got := report.PerS(rate); got != want {
			t.Errorf("%g is %s, want %s", rate, got, want)
		}
	}
	table := report.TableOf([]struct {
		Sold int     `col:"Sold"`
		PerS float64 `col:"A second" fmt:"%.0f"`
		MS   float64 `col:"ms" fmt:"%.4g"`
	}{{246_780, 4489.6, 1.23456}})
	table.Add(false, 8, "4490", int64(-1000))
	if want := "246,780 4,490 1.235; 8 4490 -1,000"; cells(table) != want {
		t.Errorf("%s, want %s", cells(table), want)
	}
	if kind := table.Kind(0); kind != "number" {
		t.Errorf("246,780 is of kind %s", kind)
	}
}

func cells(t *report.Table) string {
	var rows []string
	for _, row := range t.Rows {
		rows = append(rows, strings.Join(row.Cells, " "))
	}
	return strings.Join(rows, "; ")
}

func TestNumbersOfThings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ got, want string }{
		{report.Many(0, "order"), "0 orders"},
		{report.Many(1, "process"), "1 process"},
		{report.Many(int64(1200), "process"), "1,200 processes"},
		{report.Are(1, "piece"), "1 piece is"},
		{report.Are(2, "piece"), "2 pieces are"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
