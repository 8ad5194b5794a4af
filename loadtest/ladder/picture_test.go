package ladder_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"orderstock/loadtest/history"
	"orderstock/loadtest/ladder"
)

func sample() *ladder.Result {
	r := &ladder.Result{Bench: ladder.Bench{Server: "MySQL <9.7>", Machine: "2 cores", Date: "2026-11-21"}}
	for i, s := range []string{"case-study", "conditional-update", "grouped", "a&b"} {
		for _, c := range []int{1, 16, 64, 256} {
			for _, path := range []history.Path{history.PathDeduct, history.PathOrder} {
				r.Rows = append(r.Rows, ladder.Row{
					Strategy: s, Path: path, Goods: 1, Clients: c, Replicas: 1,
					DonePerS: float64((i + 1) * 300 * c), P99MS: 3 / float64(i+1) * float64(c), Verdict: "pass",
				})
			}
		}
	}
	r.Survival = []ladder.Row{
		{Strategy: "grouped", Fault: ladder.Killed, Verdict: "pass"},
		{Strategy: "a&b", Fault: ladder.Flushed, Verdict: "violation", Broken: []string{"acknowledged-order-kept", "x"}},
	}
	r.Rows = append(r.Rows, ladder.Row{
		Strategy: "grouped", Path: history.PathDeduct, Goods: 1, Clients: 64, Replicas: 3, DonePerS: 777777,
	})
	return r
}

// picture returns the picture of a ladder.
func picture(r *ladder.Result) string {
	for _, part := range r.Sheet().Parts {
		if part.File != "" {
			return string(part.Picture)
		}
	}
	return ""
}

func TestThePictureIsWellFormedAndShowsEachStrategy(t *testing.T) {
	svg := picture(sample())
	dec := xml.NewDecoder(strings.NewReader(svg))
	lines := 0
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("not XML: %v", err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "path" {
			lines++
		}
	}
	if want := 4 * 2 * 2; lines != want {
		t.Errorf("%d lines, want one for each strategy in each of four panels: %d", lines, want)
	}
}

func TestAnEmptyRunHasAPictureToo(t *testing.T) {
	if svg := picture(&ladder.Result{}); !strings.HasSuffix(svg, "</svg>\n") {
		t.Error(svg)
	}
}

func TestTheMarkdownTableLeavesOtherShapesOut(t *testing.T) {
	table := sample().Sheet().Parts[0].Table.Markdown()
	if n := strings.Count(table, "\n"); n != 5 {
		t.Errorf("%d lines, want a header of two and four strategies:\n%s", n, table)
	}
	if strings.Contains(table, "777777") || !strings.Contains(table, "| `grouped` | 900/s, p99 1.0 ms |") {
		t.Errorf("wrong cells:\n%s", table)
	}
}

func TestSurvivalIsInTheTableOfThroughput(t *testing.T) {
	r := sample()
	table := r.Sheet().Parts[0].Table.Markdown()
	for strategy, want := range map[string]string{
		"grouped": "| pass | all kept | – |", "a&b": "| pass | – | **broken: acknowledged-order-kept and 1 more** |",
	} {
		if !strings.Contains(lineOf(table, "`"+strategy+"`"), want) {
			t.Errorf("%s: want %q in\n%s", strategy, want, table)
		}
	}
}

func lineOf(text, with string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, with) {
			return line
		}
	}
	return ""
}
