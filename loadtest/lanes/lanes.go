// Package lanes shows what happened in a run: the steps of the two to four parties that met, side by side in the order
// of time, with their values.
//
// A Scene is cut from the events of one run, its calls and its rows; nothing in it is made up. A function for each
// fault picks the orders that met, always the first that did.
package lanes

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Scene is what happened, cut to what matters. A page reads its JSON.
type Scene struct {
	Lanes []Lane `json:"lanes"`
	Steps []Step `json:"steps"` // in the order of time, at most mostSteps
	// Books is the last line, by the rows.
	Books string `json:"books"`
	// Says is a remark if the orders are others than in the scene of the broken variant; "" if they are the same.
	Says string `json:"says"`
}

// others is the remark in a scene of other orders.
const others = "These are other orders than in the broken run: who meets whom differs from run to run."

// numbered begins the name of an order that is the same in each run with the seed.
const numbered = "order no. "

// has reports whether a lane of the scene, which may be nil, is of the same numbered order.
func (s *Scene) has(lane Lane) bool {
	return s != nil && strings.HasPrefix(lane.Order, numbered) &&
		slices.ContainsFunc(s.Lanes, func(l Lane) bool { return l.Order == lane.Order })
}

// Compare adds a remark to the scene if the scene of the broken variant has other orders. Both may be nil.
func (s *Scene) Compare(broken *Scene) {
	if s == nil || broken == nil {
		return
	}
	for _, lane := range s.Lanes {
		if strings.HasPrefix(lane.Order, numbered) && !broken.has(lane) {
			s.Says = others
		}
	}
}

// Lane is a column of a Scene: a process, or the client, and the order that it works for.
type Lane struct {
	Process string `json:"process"`
	Order   string `json:"order"` // "" for all orders of the process
}

// Step is an action of a lane at a moment.
type Step struct {
	AtMS float64 `json:"at_ms"` // since the first step
	Lane int     `json:"lane"`
	Text string  `json:"text"`
	// Held says that the experiment holds the lane up there; "" if it does not.
	Held string `json:"held"`
	// Wrong says why the step is wrong, and Right why a step is refused that would have been; "" for other steps.
	Wrong string `json:"wrong"`
	Right string `json:"right"`
	// To is the lane that a lock or a message goes to, or -1.
	To int `json:"to"`
	// Weight orders the steps: where there is little place, the lightest are left out.
	Weight int `json:"weight"`
}

// Names returns the heads of the columns.
func (s *Scene) Names() []string {
	names := make([]string, len(s.Lanes))
	for i, l := range s.Lanes {
		names[i] = l.Process
		if l.Order != "" {
			names[i] += ", " + l.Order
		}
	}
	return names
}

// Time returns the time of a step in words.
func (st Step) Time() string {
	switch {
	case st.AtMS < 999.95:
		return fmt.Sprintf("%.1f ms", st.AtMS)
	default:
		return fmt.Sprintf("%.3f s", st.AtMS/1000)
	}
}

// Lines returns the words of a step and, in further lines, why it is wrong or right, and its hold.
func (st Step) Lines() []string {
	text := st.Text
	switch {
	case st.To > st.Lane:
		text += " ──►"
	case st.To >= 0 && st.To < st.Lane:
		text = "◄── " + text
	}
	lines := []string{text}
	for _, more := range []struct{ sign, text string }{{"✗ ", st.Wrong}, {"✓ ", st.Right}, {"‖ ", st.Held}} {
		if more.text != "" {
			lines = append(lines, more.sign+more.text)
		}
	}
	return lines
}

// width is the width of the text, and timeWidth of its first column.
const width, timeWidth = 80, 9

// Text prints the scene within 80 columns.
func (s *Scene) Text(w io.Writer) {
	column := (width - timeWidth) / len(s.Lanes)
	row := func(at string, lane int, cells ...string) {
		line := fmt.Sprintf("%-*s", timeWidth, at) + strings.Repeat(" ", lane*column)
		for _, cell := range cells {
			line += cell + strings.Repeat(" ", max(0, column-utf8.RuneCountInString(cell)))
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
	heads := make([][]string, len(s.Lanes))
	most := 0
	for i, name := range s.Names() {
		heads[i] = wrap(name, column-2, "")
		most = max(most, len(heads[i]))
	}
	for n := range most {
		cells := make([]string, len(heads))
		for i, head := range heads {
			if n < len(head) {
				cells[i] = head[n]
			}
		}
		row("", 0, cells...)
	}
	for _, step := range s.Steps {
		at := step.Time()
		for _, text := range step.Lines() {
			for _, line := range wrap(text, column-2, "  ") {
				row(at, step.Lane, line)
				at = ""
			}
		}
	}
	if s.Books != "" {
		for _, line := range wrap("books: "+s.Books, width-timeWidth, "  ") {
			row("", 0, line)
		}
	}
	if s.Says != "" {
		for _, line := range wrap(s.Says, width-timeWidth, "  ") {
			row("", 0, line)
		}
	}
}

// wrap breaks text into lines of at most n characters, if its words are not longer. All but the first are indented.
func wrap(text string, n int, indent string) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line+" "+word) <= n:
			line += " " + word
		default:
			lines = append(lines, line)
			line = indent + word
		}
	}
	return append(lines, line)
}

// Markdown returns the scene as a table for a document.
func (s *Scene) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| | %s |\n| --: |%s\n", strings.Join(s.Names(), " | "), strings.Repeat(" --- |", len(s.Lanes)))
	for _, step := range s.Steps {
		cells := make([]string, len(s.Lanes))
		cells[step.Lane] = strings.ReplaceAll(strings.Join(step.Lines(), "<br>"), "|", `\|`)
		fmt.Fprintf(&b, "| %s | %s |\n", step.Time(), strings.Join(cells, " | "))
	}
	if s.Books != "" {
		fmt.Fprintf(&b, "\nBooks: %s.\n", s.Books)
	}
	if s.Says != "" {
		fmt.Fprintf(&b, "\n%s\n", s.Says)
	}
	return b.String()
}
