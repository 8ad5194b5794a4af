package readme

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"orderstock/loadtest/catalogue"
	"orderstock/loadtest/console"
	"orderstock/loadtest/faults"
	"orderstock/loadtest/ladder"
	"orderstock/loadtest/mutants"
	"orderstock/loadtest/verify"
)

// result reads a run's file in the folder out, and returns its time and its commit; nil if there is
// no such file.
func result[T any](from sources, name string) (r *T, measured string, err error) {
	data, err := os.ReadFile(filepath.Join(from.out, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	r = new(T)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, "", fmt.Errorf("read %s: %w", name, err)
	}
	measured, err = from.measured(name)
	return r, measured, err
}

// draw writes a picture into the document's folder.
func (s sources) draw(name, svg string) error {
	return os.WriteFile(filepath.Join(s.root, filepath.Dir(loadtestDoc), name), []byte(svg), 0o644)
}

// faultMatrix sums the cells of out/faults.json up by fault.
func faultMatrix(from sources) (string, error) {
	report, measured, err := result[faults.Report](from, "faults.json")
	if report == nil || err != nil {
		return "", err
	}
	if len(report.Cells)+len(report.NotApplicable) < len(faults.Cells()) {
		return "", nil // a part of the matrix
	}
	type sum struct {
		cells, fired, violations, unsettled int
		settle                              float64
	}
	var atSteps, around []string
	sums := map[string]*sum{}
	for _, c := range report.Cells {
		name := c.Fault
		if c.Baskets {
			name += ", baskets"
		}
		s := sums[name]
		if s == nil {
			s = &sum{}
			sums[name] = s
			if c.Step == "around" {
				around = append(around, name)
			} else {
				atSteps = append(atSteps, name)
			}
		}
		s.cells++
		s.fired += c.Fired
		s.violations += c.Violations
		s.unsettled += c.Unsettled
		s.settle = max(s.settle, c.SettleP99MS)
	}
	settle := func(s *sum) string {
		text := fmt.Sprintf("%.1f s", s.settle/1000)
		if s.violations+s.unsettled > 0 {
			text += fmt.Sprintf(" **(%d violations, %d unsettled)**", s.violations, s.unsettled)
		}
		return text
	}
	text := fmt.Sprintf("%s.\n%d runs of %d cells, %d orders, faults fired %d times, %d violations,\n"+
		"%d orders left unsettled, %d runs that proved nothing.\n\n", measured,
		report.Total.Runs, len(report.Cells), report.Total.Orders, report.Total.Fired, report.Total.Violations,
		report.Total.Unsettled, report.Total.Unknown)
	text += "| fault at a step | cells | fired | slowest p99 to settle |\n| --- | --: | --: | --: |\n"
	slices.Sort(atSteps)
	for _, name := range atSteps {
		s := sums[name]
		text += fmt.Sprintf("| %s | %d | %d | %s |\n", name, s.cells, s.fired, settle(s))
	}
	slices.SortStableFunc(around, func(a, b string) int { return cmp.Compare(sums[b].settle, sums[a].settle) })
	text += "\n| fault around the system | slowest p99 to settle |\n| --- | --: |\n"
	var others []string
	for i, name := range around {
		switch s := sums[name]; {
		case i < slowest || s.violations+s.unsettled > 0:
			text += fmt.Sprintf("| %s | %s |\n", name, settle(s))
		default:
			others = append(others, name)
		}
	}
	if len(others) > 0 {
		text += fmt.Sprintf("| %d others, alone and in pairs (`loadtest run faults --list`) | at most %s |\n",
			len(others), settle(sums[others[0]]))
	}
	return text, nil
}

// slowest is how many faults around the system have a row.
const slowest = 6

// clusterFaults is out/faults-cluster.json, a row for each cell.
func clusterFaults(from sources) (string, error) {
	report, measured, err := result[faults.Report](from, "faults-cluster.json")
	if report == nil || err != nil {
		return "", err
	}
	text := "| fault | orders | confirmed | rejected | unknown outcome | writes again |\n" +
		"| --- | --: | --: | --: | --: | --: |\n"
	retried := ""
	passed, violations, unsettled := 0, 0, 0
	for _, c := range report.Cells {
		again := "–"
		if c.WritesAgainS != nil {
			again = fmt.Sprintf("%.1f s", *c.WritesAgainS)
		}
		if c.Retried503+c.RetriedLost > 0 {
			retried += fmt.Sprintf("\nUnder %s, %d orders were answered 503 and %d lost their connection"+
				" before they were served.\n", c.Fault, c.Retried503, c.RetriedLost)
		}
		if again += unless(c.Verdict); c.Verdict == verify.Pass {
			passed++
		}
		violations += c.Violations
		unsettled += c.Unsettled
		text += fmt.Sprintf("| %s | %d | %d | %d | %d | %s |\n",
			c.Fault, c.Orders, c.OK, c.Rejected, c.UnknownToClient, again)
	}
	return fmt.Sprintf("%s. %d of %d cells pass, %d violations, %d orders left unsettled.\n\n%s",
		measured, passed, len(report.Cells), violations, unsettled, text+retried), nil
}

// mutantTable is out/mutants.json, a row for each invariant that caught mutants, and one for each absorbing layer.
func mutantTable(from sources) (string, error) {
	report, measured, err := result[mutants.Report](from, "mutants.json")
	if report == nil || err != nil {
		return "", err
	}
	ok := 0
	var invariants []string
	caught := map[string][]string{}
	var controls []string
	absorbed, unexpected := "", ""
	for _, row := range report.Rows {
		layer, isAbsorbed := strings.CutPrefix(row.CaughtBy, "absorbed by ")
		if row.OK {
			ok++
		}
		switch {
		case !row.OK:
			unexpected += fmt.Sprintf("\n**%s**: caught by %s, expected %s.\n", row.Mutant, row.CaughtBy, row.Expected)
		case layer == mutants.Control:
			controls = append(controls, strings.TrimPrefix(row.Mutant, "nothing broken, "))
		case isAbsorbed:
			absorbed += fmt.Sprintf("| %s | %s |\n", row.Mutant, layer)
		default:
			if caught[row.CaughtBy] == nil {
				invariants = append(invariants, row.CaughtBy)
			}
			caught[row.CaughtBy] = append(caught[row.CaughtBy], row.Mutant)
		}
	}
	tried := ""
	if report.Changes != nil {
		tried = fmt.Sprintf("\nRandom changes to good runs: %s.", report.Changes)
	}
	text := fmt.Sprintf("%s. %d of %d as expected.%s\n%s\n| caught by | defects |\n| --- | --- |\n",
		measured, ok, len(report.Rows), tried, unexpected)
	for _, name := range invariants {
		text += fmt.Sprintf("| `%s` | %s |\n", name, some(caught[name]))
	}
	if len(controls) > 0 {
		text += fmt.Sprintf("| nothing | controls, with nothing broken: %s |\n", some(controls))
	}
	if absorbed != "" {
		text += "\n| layer removed | absorbed by |\n| --- | --- |\n" + absorbed
	}
	return text, nil
}

// some returns the first three names and how many there are.
func some(names []string) string {
	if n := len(names) - 3; n > 1 {
		names = append(slices.Clone(names[:3]), fmt.Sprintf("%d others", n))
	}
	return strings.Join(names, "; ")
}

// lockBench is out/lock-bench.json, a row for each lock.
func lockBench(from sources) (string, error) {
	type row struct {
		Lock       string  `json:"lock"`
		Processes  int     `json:"processes"`
		Contenders int     `json:"contenders"`
		Paths      int     `json:"paths"`
		PerS       float64 `json:"per_s"`
		P50        float64 `json:"p50_ms"`
		P99        float64 `json:"p99_ms"`
		WakeUps    float64 `json:"wakeups_per_release"`
		Longest    float64 `json:"max_ms"`
		Hold       float64 `json:"hold_ms"`
	}
	report, measured, err := result[struct {
		Rows []row `json:"rows"`
	}](from, "lock-bench.json")
	if report == nil || err != nil {
		return "", err
	}
	var loads, locks []string
	cells := map[[2]string]string{}
	lone := ""
	for _, r := range report.Rows {
		if r.Hold > 0 {
			lone += fmt.Sprintf("| %s | %d | %g ms | %.1f | %.1f | %.1f |\n",
				r.Lock, r.Contenders-1, r.Hold, r.P50, r.P99, r.Longest)
			continue
		}
		load := fmt.Sprintf("%s in %s on %s",
			plural(r.Contenders, "contender"), plural(r.Processes, "process"), plural(r.Paths, "path"))
		if !slices.Contains(loads, load) {
			loads = append(loads, load)
		}
		if !slices.Contains(locks, r.Lock) {
			locks = append(locks, r.Lock)
		}
		cell := fmt.Sprintf("%.0f/s, %s, %s ms", r.PerS, short(r.P50), short(r.P99))
		if r.WakeUps >= 0.05 { // 0.0
			cell += fmt.Sprintf(", %.1f wake-ups", r.WakeUps)
		}
		cells[[2]string{r.Lock, load}] = cell
	}
	text := measured + ". Acquisitions per second, p50, p99, wake-ups for each release:\n\n" +
		"| lock | " + strings.Join(loads, " | ") + " |\n| --- |" + strings.Repeat(" --- |", len(loads)) + "\n"
	for _, lock := range locks {
		text += "| " + lock + " |"
		for _, load := range loads {
			text += " " + cells[[2]string{lock, load}] + " |"
		}
		text += "\n"
	}
	if lone != "" {
		text += "\nThe wait of one contender that competes with many in another process, all on one path:\n\n" +
			"| lock | others | all hold for | p50 ms | p99 ms | longest ms |\n" +
			"| --- | --: | --: | --: | --: | --: |\n" + lone
	}
	return text, nil
}

// plural returns "1 thing", or "2 things".
func plural(n int, thing string) string {
	switch {
	case n != 1 && strings.HasSuffix(thing, "s"):
		thing += "es"
	case n != 1:
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// short formats a number without digits that say nothing.
func short(v float64) string {
	if v < 10 {
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// ladderTables is out/ladder.json, with its picture in the document's folder.
func ladderTables(from sources) (string, error) {
	r, measured, err := result[ladder.Result](from, "ladder.json")
	if r == nil || err != nil {
		return "", err
	}
	if err := from.draw("ladder.svg", r.SVG()); err != nil {
		return "", err
	}
	return fmt.Sprintf(`%s
on %s, %s.

The deduction call alone, and whole orders, of one hot product:

%s
`+"`direct`"+` is the limit: the same statements in the same groups, sent to MySQL by the load tester, with no service,
HTTP, Redis or lock. The last two columns are for deductions of five products, a tenth of them sent twice: in the middle
the only stock service is killed and restarted, or Redis is emptied ten times within half a second.

%s
![Throughput and latency by clients for each strategy](ladder.svg)

The targets of the default strategy. The error is the standard error over slices of 250 ms. It is too small for a row
of few turns, as one turn is off by a sixth, and ignores that restarted processes may be some 5 %% faster or slower.
"One hot product" is the best of 64 and 256 clients.

%s`, measured, r.Server, r.Machine,
		joined(r.Markdown(ladder.PathDeduct), r.Markdown(ladder.PathOrder)), r.LockCost(), r.MarkdownRatios()), nil
}

// joined returns the table of deductions with the rates of the table of orders after its own. Their columns are the
// strategy, the rates, and three verdicts.
func joined(deductions, orders string) string {
	cells := func(line string) []string { return strings.Split(strings.Trim(line, "| \n"), " | ") }
	byStrategy := map[string][]string{}
	for line := range strings.Lines(orders) {
		if c := cells(line); len(c) > 4 {
			byStrategy[c[0]] = c
		}
	}
	text := ""
	for line := range strings.Lines(deductions) {
		c := cells(line)
		rates := len(c) - 3
		o := byStrategy[c[0]]
		if len(o) != len(c) {
			o = make([]string, len(c))
		}
		if o[rates] != "" && o[rates] != c[rates] {
			c[rates] += ", orders: " + o[rates]
		}
		row := slices.Concat(c[:rates], o[1:rates], c[rates:])
		if c[0] == "strategy" {
			for i := 1; i < rates; i++ {
				row[i], row[rates+i-1] = "deductions, "+c[i], "orders, "+c[i]
			}
		}
		text += "| " + strings.Join(row, " | ") + " |\n"
	}
	return text
}

// scale is out/scale.json, with its picture in the document's folder.
func scale(from sources) (string, error) {
	r, measured, err := result[ladder.Scale](from, "scale.json")
	if r == nil || err != nil {
		return "", err
	}
	if err := from.draw("scale.svg", r.SVG()); err != nil {
		return "", err
	}
	text := fmt.Sprintf("%s\non %s, %s.\n\n"+
		"| groups of | a commit waits | holders | deductions/s | to one holder | to reach |\n"+
		"| --: | --: | --: | --: | --: | --: |\n", measured, r.Server, r.Machine)
	for _, row := range r.AllRows() {
		text += fmt.Sprintf("| %d | %g ms | %d | %.0f%s | %.2f ± %.2f | %s |\n", row.Group, row.DelayMS, row.Holders,
			row.DeductsPerS, unless(row.Verdict), row.Ratio, row.Error, wanted(row.Ratio, row.Error, row.Want))
	}
	text += "\n![Deductions by holders](scale.svg)\n\n" +
		"| compared | ratio | to reach | p99, ratio | hand-overs/s |\n| --- | --: | --: | --: | --: |\n"
	for _, h := range r.Compared() {
		text += fmt.Sprintf("| %s / %s | %.2f ± %.2f | %s | %.2f | %.1f |\n",
			h.Load(), h.Than, h.Ratio, h.Error, wanted(h.Ratio, h.Error, h.Want), h.P99, h.Handovers)
	}
	if r.Compose != nil {
		for _, c := range r.Compose.Ratios() {
			text += fmt.Sprintf("| %s | %.2f ± %.2f | %s | | |\n", c.Name, c.Value, c.Error, wanted(c.Value, c.Error, c.Want))
		}
	}
	text += "\n| holder, for 20 s | answers | other than 201, 202, 409 | first success after |\n" +
		"| --- | --: | --: | --: |\n"
	for _, f := range r.Failing {
		text += fmt.Sprintf("| %s%s | %d | %.2f %% | %.2f s |\n",
			f.Fault, unless(f.Verdict), f.Answers, 100*f.OtherShare, f.FirstSuccessS)
	}
	return text, nil
}

// unless returns the verdict of a row that did not pass.
func unless(verdict verify.Outcome) string {
	if verdict == verify.Pass {
		return ""
	}
	return " **(" + string(verdict) + ")**"
}

// wanted returns the target of a ratio, and whether it was missed; "" if there is no target.
func wanted(value, err, want float64) string {
	switch {
	case want == 0:
		return ""
	case value+err < want:
		return fmt.Sprintf("%g, **missed**", want)
	}
	return fmt.Sprint(want)
}

// tour is out/tour.json, a row for each published fault.
func tour(from sources) (string, error) {
	pairs, measured, err := result[[]console.Pair](from, "tour.json")
	if pairs == nil || err != nil {
		return "", err
	}
	if len(*pairs) < len(catalogue.Letters()) {
		return "", nil // only some of the faults
	}
	text := "| | observed with the fault |\n| --- | --- |\n"
	shown, usual := 0, (*pairs)[0].Broken.Seed
	for _, p := range *pairs {
		seen := invariantNames.Replace(p.Broken.Says)
		if p.Kind == "time" {
			seen = fmt.Sprintf("%.0f orders/s broken, %.0f fixed", p.Broken.OrdersPerS, p.Fixed.OrdersPerS)
		}
		if p.Shown() && p.Fixed.Outcome == verify.Pass {
			shown++
		} else {
			seen += fmt.Sprintf(" **(broken: %s, fixed: %s)**", p.Broken.Outcome, p.Fixed.Outcome)
		}
		if p.Broken.Seed != usual {
			seen += " (seed " + p.Broken.Seed + ")"
		}
		text += fmt.Sprintf("| %s | %s |\n", p.Letter, seen)
	}
	return fmt.Sprintf("%s, seed %s. %d of %d faults go wrong broken and right fixed.\n\n%s",
		measured, usual, shown, len(*pairs), text), nil
}

// invariantNames replaces an invariant's sentence by its name.
var invariantNames = func() *strings.Replacer {
	var pairs []string
	for _, name := range verify.Invariants() {
		pairs = append(pairs, verify.Says(name), "`"+name+"`")
	}
	return strings.NewReplacer(pairs...)
}()
