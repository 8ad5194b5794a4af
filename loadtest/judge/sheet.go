package judge

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"orderstock/loadtest/judge/shop"
	"orderstock/loadtest/report"
	"orderstock/loadtest/verify"
)

// Line describes the phase in a line.
func (p *Phase) Line() string {
	if p.Skipped != "" {
		return fmt.Sprintf("%-10s not run    %s", p.Name, p.Skipped)
	}
	line := fmt.Sprintf("%-10s %-10s %s", p.Name, strings.ToUpper(string(p.Outcome)), p.served())
	if loud := p.Loud(); loud != "" {
		line += "  " + loud
	}
	return line
}

func (p *Phase) served() string {
	if p.Orders == 0 {
		return "no order was sent"
	}
	text := fmt.Sprintf("orders=%d accepted=%d rejected=%d", p.Orders, p.Accepted, p.Rejected)
	if p.Pending > 0 {
		text += fmt.Sprintf(" pending=%d", p.Pending)
	}
	text += fmt.Sprintf(" unknown=%d", p.Unknown)
	if p.Cancelled > 0 {
		text += fmt.Sprintf(" cancelled=%d", p.Cancelled)
	}
	if p.Clients > 0 {
		text += fmt.Sprintf(" clients=%d", p.Clients)
	}
	if p.Kills > 0 {
		text += fmt.Sprintf(" kills=%d", p.Kills)
	}
	return text
}

// Write prints the phase: its line, the reasons, and for each violation the first example with its calls and rows.
func (p *Phase) Write(w io.Writer) {
	w = terminal{w}
	fmt.Fprintln(w, p.Line())
	for _, reason := range p.Reasons {
		fmt.Fprintln(w, indented("unknown: "+reason, "  "))
	}
	for _, note := range p.Notes {
		fmt.Fprintln(w, indented("note: "+note, "  "))
	}
	for _, v := range p.Violations {
		times := ""
		if v.Count > 1 {
			times = report.English.Sprintf(", %d times, such as", v.Count)
		}
		fmt.Fprintf(w, "  %s%s: %s\n", v.Invariant, times, v.Examples[0].Text)
		for _, line := range v.Examples[0].lines() {
			fmt.Fprintln(w, indented(line, "      "))
		}
	}
}

// terminal writes text with escapes in the place of bytes that a terminal would obey, or that are no text.
type terminal struct{ w io.Writer }

func (t terminal) Write(text []byte) (int, error) {
	var out []byte
	for rest := text; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		switch {
		case r == utf8.RuneError && size == 1:
			out = fmt.Appendf(out, `\x%02x`, rest[0])
		case r == '\n' || unicode.IsPrint(r):
			out = append(out, rest[:size]...)
		case r < utf8.RuneSelf:
			out = fmt.Appendf(out, `\x%02x`, r)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		rest = rest[size:]
	}
	if _, err := t.w.Write(out); err != nil {
		return 0, err
	}
	return len(text), nil
}

func indented(text, by string) string { return by + strings.ReplaceAll(text, "\n", "\n"+by) }

// linesShown bounds the calls and the rows of an example that are printed.
const linesShown = 6

func (e *Example) lines() (lines []string) {
	calls := func(prefix string, calls []Call) {
		for i, c := range calls {
			if i == linesShown {
				lines = append(lines, report.English.Sprintf("%s… and %d more calls", prefix, len(calls)-i))
				break
			}
			lines = append(lines, prefix+c.String())
		}
	}
	calls("", e.Calls)
	if e.Met != nil {
		calls("met: key "+e.Met.Key+", ", e.Met.Calls)
	}
	for i, row := range e.Rows {
		if i == linesShown {
			lines = append(lines, report.English.Sprintf("… and %d more rows", len(e.Rows)-i))
			break
		}
		lines = append(lines, "books: "+row)
	}
	for _, line := range e.Output {
		lines = append(lines, "output: "+line)
	}
	return lines
}

// Write prints the end of the judgement: why nothing could be judged, the invariants that were not checked, the
// smallest load of a search, and the verdict.
func (r *Result) Write(w io.Writer) {
	w = terminal{w}
	for _, reason := range r.Reasons {
		fmt.Fprintln(w, "unknown:", reason)
	}
	if text := r.checked(); text != "" {
		fmt.Fprintln(w, text)
	}
	for _, u := range r.Unchecked {
		fmt.Fprintf(w, "  not checked: %s: %s\n", u.Invariant, u.Why)
	}
	if r.StepsOnce {
		fmt.Fprintln(w, "  not checked: "+stepsOnce)
	}
	if r.Smallest != nil {
		fmt.Fprintf(w, "smallest, of %d runs: %s\n", r.Runs, r.Smallest.Command)
		for i := range r.Phases {
			for _, v := range r.Phases[i].Violations {
				if commands := v.Examples[0].Commands; v.Invariant == r.Smallest.Invariant && commands != "" {
					fmt.Fprintf(w, "the calls that met:\n%s\n", indented(commands, "  "))
				}
			}
		}
	}
	fmt.Fprintln(w, r)
}

// stepsOnce says what no invariant sees of the steps after an order.
const stepsOnce = "a payment that is sent twice: each step of then is sent once, and the books have no payments"

// checked says how many invariants could be judged, or nothing if none was tried.
func (r *Result) checked() string {
	if len(r.Checked)+len(r.Unchecked) == 0 {
		return ""
	}
	return fmt.Sprintf("checked %d of %d", len(r.Checked), len(r.Checked)+len(r.Unchecked))
}

// String returns the last line of the judgement.
func (r *Result) String() string {
	line := "VERDICT: " + strings.ToUpper(string(r.Outcome))
	for i := range r.Phases {
		if p := &r.Phases[i]; p.Skipped == "" {
			line += " " + p.Name + "=" + string(p.Outcome)
		}
	}
	for i := range r.Phases {
		if loud := r.Phases[i].Loud(); loud != "" {
			line += ", " + r.Phases[i].Name + " " + loud
		}
	}
	if r.AnswersAlone && r.Outcome == verify.Pass {
		line += ", by the answers alone: no books"
	}
	return line
}

// Sheet describes the result.
func (r *Result) Sheet() report.Sheet {
	s := report.Sheet{
		Title: "A shop, judged: " + r.File, Word: strings.ToUpper(string(r.Outcome)), Sentence: r.sentence(),
		Facts: []report.Fact{
			{Name: "Target", Value: r.Target}, {Name: "Run", Value: r.Run}, {Name: "Seed", Value: fmt.Sprint(r.Seed)},
		},
	}
	if text := r.checked(); text != "" {
		s.Facts = append(s.Facts, report.Fact{Name: "Invariants", Value: text})
	}
	if r.Smallest != nil {
		s.Facts = append(s.Facts, report.Fact{Name: "Smallest", Value: r.Smallest.Command})
	}
	phases := report.NewTable("phase", "what is sent", "verdict", "orders", "accepted", "rejected", "pending", "unknown",
		"violated")
	for i := range r.Phases {
		p := &r.Phases[i]
		if p.Skipped != "" {
			phases.Add(false, p.Name, p.sends(), "not run: "+p.Skipped, "", "", "", "", "", "")
			continue
		}
		word := strings.ToUpper(string(p.Outcome))
		if loud := p.Loud(); loud != "" {
			word += " **" + loud + "**"
		}
		phases.Add(p.Outcome == verify.Violation || p.Loud() != "", p.Name, p.sends(), word, p.Orders, p.Accepted, p.Rejected,
			p.Pending, p.Unknown, strings.Join(p.Violated(), ", "))
	}
	s.Add(report.Part{Title: "The phases", Table: phases, Says: strings.Join(r.Reasons, "\n")})
	for i := range r.Phases {
		r.Phases[i].parts(&s)
	}
	if len(r.Unchecked) > 0 {
		t := report.NewTable("invariant", "what must hold", "why it was not checked")
		for _, u := range r.Unchecked {
			t.Add(false, u.Invariant, Says(u.Invariant), u.Why)
		}
		s.Add(report.Part{Title: "Not checked", Table: t})
	}
	if r.StepsOnce {
		s.Add(report.Part{Title: "Not checked, either", Says: strings.ToUpper(stepsOnce[:1]) + stepsOnce[1:] + "."})
	}
	if r.Shop != "" {
		s.Add(report.Part{Title: "The file, without its secrets", Text: r.Shop, Folded: true})
	}
	return s
}

// sends describes the calls of the phase.
func (p *Phase) sends() string {
	for _, name := range Phases() {
		if strings.HasPrefix(p.Name, name) {
			return Sends(name)
		}
	}
	return ""
}

// sentence is the headline.
func (r *Result) sentence() string {
	for i := range r.Phases {
		if p := &r.Phases[i]; len(p.Violations) > 0 {
			return p.Name + ": " + p.Violations[0].Examples[0].Text
		}
	}
	for i := range r.Phases {
		if loud := r.Phases[i].Loud(); loud != "" {
			return r.Phases[i].Name + ": " + loud
		}
	}
	switch {
	case r.Outcome == verify.Pass && r.AnswersAlone:
		return "By the answers alone, every phase holds what a shop must hold"
	case r.Outcome == verify.Pass:
		return "Every phase holds what a shop must hold"
	}
	return "Nothing wrong was seen, and not everything could be shown"
}

// parts adds what was wrong or unknown in the phase.
func (p *Phase) parts(s *report.Sheet) {
	if len(p.Reasons) > 0 {
		s.Add(report.Part{Title: p.Name + ": unknown", Says: strings.Join(p.Reasons, "\n")})
	}
	if len(p.Notes) > 0 {
		s.Add(report.Part{Title: p.Name + ": worth a look", Says: strings.Join(p.Notes, "\n")})
	}
	for _, v := range p.Violations {
		says := fmt.Sprintf("**%s.** What to do: %s. What must hold: %s.", AdviceOn(v.Invariant).Means,
			strings.TrimSuffix(AdviceOn(v.Invariant).Do, "."), v.Says)
		times := "once"
		if v.Count > 1 {
			times = report.English.Sprintf("%d times", v.Count)
		}
		s.Add(report.Part{Title: fmt.Sprintf("%s: %s, %s", p.Name, v.Invariant, times), Says: says})
		s.Add(v.Examples[0].scene(v.Invariant).Part("What happened, for example"))
		if text := v.Examples[0].Commands; text != "" {
			s.Add(report.Part{Title: "The calls that met, as commands", Text: text, Folded: true})
		}
		t := report.NewTable("example", "what was seen")
		for i := range v.Examples {
			e := &v.Examples[i]
			t.Add(true, e.Text, shop.WithoutSecrets(strings.Join(e.lines(), " · ")))
		}
		title := "All that was seen"
		if v.Count > len(v.Examples) {
			title = report.English.Sprintf("The first %d", len(v.Examples))
		}
		s.Add(report.Part{Title: title, Table: t, Folded: true})
	}
}
