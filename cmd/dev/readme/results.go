package readme

import (
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

// prose returns the summary sentences of a table, without its rows.
func prose(text func(sources) (string, error)) func(sources) (string, error) {
	return func(from sources) (string, error) {
		whole, err := text(from)
		var kept strings.Builder
		blank := true
		for line := range strings.Lines(whole) {
			if strings.HasPrefix(line, "|") || blank && line == "\n" {
				continue
			}
			blank = line == "\n"
			kept.WriteString(line)
		}
		return strings.TrimSpace(kept.String()), err
	}
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
		cells, runs, fired, orders, violations, unsettled, unknown int
		settle                                                     float64
	}
	var names []string
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
			names = append(names, name)
		}
		s.cells++
		s.runs += c.Runs
		s.fired += c.Fired
		s.orders += c.Orders
		s.violations += c.Violations
		s.unsettled += c.Unsettled
		s.unknown += c.Unknown
		s.settle = max(s.settle, c.SettleP99MS)
	}
	slices.Sort(names)
	text := fmt.Sprintf("%s.\n%d runs of %d cells, %d orders, faults fired %d times, %d violations,\n"+
		"%d orders left unsettled, %d runs that proved nothing.\n\n", measured,
		report.Total.Runs, len(report.Cells), report.Total.Orders, report.Total.Fired, report.Total.Violations,
		report.Total.Unsettled, report.Total.Unknown)
	text += "| fault | cells | runs | fired | orders | violations | unsettled | slowest p99 to settle |\n" +
		"| --- | --: | --: | --: | --: | --: | --: | --: |\n"
	var calm []string
	calmCells := 0
	for _, name := range names {
		s := sums[name]
		if s.violations+s.unsettled+s.unknown == 0 && s.settle < 50 { // 0.0 s
			calm, calmCells = append(calm, name), calmCells+s.cells
			continue
		}
		text += fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d | %.1f s |\n",
			name, s.cells, s.runs, s.fired, s.orders, s.violations, s.unsettled, s.settle/1000)
	}
	if calmCells > 0 {
		text += fmt.Sprintf("\nIn the other %d cells nothing was violated and no order was left to settle: %s.\n",
			calmCells, strings.Join(calm, ", "))
	}
	return text, nil
}

// clusterFaults is out/faults-cluster.json, a row for each cell.
func clusterFaults(from sources) (string, error) {
	report, measured, err := result[faults.Report](from, "faults-cluster.json")
	if report == nil || err != nil {
		return "", err
	}
	text := measured + ".\n\n| fault | orders | confirmed | rejected | unknown outcome | violations | unsettled |" +
		" writes again | verdict |\n| --- | --: | --: | --: | --: | --: | --: | --: | --- |\n"
	retried := ""
	for _, c := range report.Cells {
		again := "–"
		if c.WritesAgainS != nil {
			again = fmt.Sprintf("%.1f s", *c.WritesAgainS)
		}
		if c.Retried503+c.RetriedLost > 0 {
			retried += fmt.Sprintf("\nUnder %s, %d orders were answered 503 and %d lost their connection"+
				" before they were served.\n", c.Fault, c.Retried503, c.RetriedLost)
		}
		text += fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d | %s | %s |\n", c.Fault, c.Orders, c.OK, c.Rejected,
			c.UnknownToClient, c.Violations, c.Unsettled, again, c.Verdict)
	}
	return text + retried, nil
}

// mutantTable is out/mutants.json.
func mutantTable(from sources) (string, error) {
	report, measured, err := result[mutants.Report](from, "mutants.json")
	if report == nil || err != nil {
		return "", err
	}
	ok := 0
	text := "| | defect | under | caught by, or absorbed by | as expected |\n| --- | --- | --- | --- | --- |\n"
	for _, row := range report.Rows {
		mark := "**no**"
		if row.OK {
			ok++
			mark = "yes"
		}
		text += fmt.Sprintf("| %s | %s | %s | %s | %s |\n", row.Kind, row.Mutant, row.Cell, row.CaughtBy, mark)
	}
	tried := ""
	if report.Changes != nil {
		tried = fmt.Sprintf(" Random changes to good runs: %s.", report.Changes)
	}
	return fmt.Sprintf("%s. %d of %d as expected.%s\n\n%s", measured, ok, len(report.Rows), tried, text), nil
}

// lockBench is out/lock-bench.json.
func lockBench(from sources) (string, error) {
	report, measured, err := result[struct {
		Rows []struct {
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
		} `json:"rows"`
	}](from, "lock-bench.json")
	if report == nil || err != nil {
		return "", err
	}
	text := measured + ".\n\n" +
		"| lock | processes | contenders | paths | acquisitions/s | p50 ms | p99 ms | wake-ups for each release |\n" +
		"| --- | --: | --: | --: | --: | --: | --: | --: |\n"
	lone := ""
	for _, r := range report.Rows {
		if r.Hold > 0 {
			lone += fmt.Sprintf("| %s | %d | %g ms | %.1f | %.1f | %.1f |\n",
				r.Lock, r.Contenders-1, r.Hold, r.P50, r.P99, r.Longest)
			continue
		}
		text += fmt.Sprintf("| %s | %d | %d | %d | %.0f | %.2f | %.2f | %.1f |\n",
			r.Lock, r.Processes, r.Contenders, r.Paths, r.PerS, r.P50, r.P99, r.WakeUps)
	}
	if lone != "" {
		text += "\nHow long one contender waits that competes with many in another process, all on one path:\n\n" +
			"| lock | contenders there | all hold for | p50 ms | p99 ms | longest ms |\n" +
			"| --- | --: | --: | --: | --: | --: |\n" + lone
	}
	return text, nil
}

// ladderTables is out/ladder.json, with its picture in the document's folder.
func ladderTables(from sources) (string, error) {
	r, err := ladder.ReadResult(filepath.Join(from.out, "ladder.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	measured, err := from.measured("ladder.json")
	if err != nil {
		return "", err
	}
	if err := r.Draw(filepath.Join(from.root, filepath.Dir(loadtestDoc), "ladder.svg")); err != nil {
		return "", err
	}
	return fmt.Sprintf(`%s
on %s, %s.

The deduction call alone, one hot product:

%s
Whole orders, one hot product:

%s
The row "direct" is the limit: the same statements in the same groups, sent to MySQL by the load tester's process, with
no service, no HTTP, no Redis and no lock. "Service killed" and "Redis flushed" are told of deductions of five products,
a tenth of them sent twice. In the middle the only stock service is killed and started again, or Redis is emptied ten
times within half a second.

%s
![Throughput and latency by clients for each strategy](ladder.svg)

The targets of the default strategy. The error is the standard error over slices of 250 ms. It is too small for a row
of few turns, as one turn is off by a sixth. "One hot product" is the best of 64 and 256 clients.

%s`, measured, r.Server, r.Machine, r.Markdown(ladder.PathDeduct), r.Markdown(ladder.PathOrder),
		r.LockCost(), r.MarkdownRatios()), nil
}

// scale is out/scale.json, with its picture in the document's folder.
func scale(from sources) (string, error) {
	r, measured, err := result[ladder.Scale](from, "scale.json")
	if r == nil || err != nil {
		return "", err
	}
	if err := r.Draw(filepath.Join(from.root, filepath.Dir(loadtestDoc), "scale.svg")); err != nil {
		return "", err
	}
	text := fmt.Sprintf("%s\non %s, %s.\n\n"+
		"| groups of | a commit waits | holders | deductions/s | to one holder | to reach | verdict |\n"+
		"| --: | --: | --: | --: | --: | --: | --- |\n", measured, r.Server, r.Machine)
	for _, row := range r.AllRows() {
		text += fmt.Sprintf("| %d | %g ms | %d | %.0f | %.2f ± %.2f | %s | %s |\n", row.Group, row.DelayMS, row.Holders,
			row.DeductsPerS, row.Ratio, row.Error, wanted(row.Ratio, row.Error, row.Want), row.Verdict)
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
	text += "\n| holder, for 20 s | answers | other than 201, 202, 409 | first success after | verdict |\n" +
		"| --- | --: | --: | --: | --- |\n"
	for _, f := range r.Failing {
		text += fmt.Sprintf("| %s | %d | %.2f %% | %.2f s | %s |\n",
			f.Fault, f.Answers, 100*f.OtherShare, f.FirstSuccessS, f.Verdict)
	}
	return text, nil
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
	text := "| | broken | fixed | seed | observed |\n| --- | --- | --- | --- | --- |\n"
	shown := 0
	for _, p := range *pairs {
		broken, seen := string(p.Broken.Outcome), p.Broken.Says
		if p.Shown() && p.Fixed.Outcome == verify.Pass {
			shown++
		}
		switch {
		case !p.Shown():
			broken = "**not caught**"
		case p.Kind == "time":
			broken = "slow"
			seen = fmt.Sprintf("%.0f orders/s broken, %.0f fixed", p.Broken.OrdersPerS, p.Fixed.OrdersPerS)
		}
		text += fmt.Sprintf("| %s | %s | %s | %s | %s |\n", p.Letter, broken, p.Fixed.Outcome, p.Broken.Seed, seen)
	}
	return fmt.Sprintf("%s. %d of %d faults go wrong broken and right fixed.\n\n%s",
		measured, shown, len(*pairs), text), nil
}
