package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"orderstock/loadtest/faults"
	"orderstock/loadtest/ladder"
	"orderstock/loadtest/mutants"
)

func readFile(path string) (string, error) {
	data, err := os.ReadFile(path)
	return string(data), err
}

// result reads what a run left in out, if there was one.
func result[T any](out, name string) (r *T, err error) {
	data, err := os.ReadFile(filepath.Join(out, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r = new(T)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return r, nil
}

// faultMatrix sums the cells of out/faults.json up by fault.
func faultMatrix(_, out string) (string, error) {
	report, err := result[faults.Report](out, "faults.json")
	if report == nil || err != nil {
		return "", err
	}
	type sum struct {
		cells, runs, fired, orders, violations, unsettled, unknown int
		settle                                                     float64
	}
	var names []string
	sums := map[string]*sum{}
	for _, c := range report.Cells {
		name := c.Fault
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
	text := fmt.Sprintf("`make faults`: %d runs of %d cells, %d orders, faults fired %d times, %d violations, %d orders left unsettled, %d runs that proved nothing.\n\n",
		report.Total.Runs, len(report.Cells), report.Total.Orders, report.Total.Fired, report.Total.Violations, report.Total.Unsettled, report.Total.Unknown)
	text += "| fault | cells | runs | fired | orders | violations | unsettled | slowest p99 to settle |\n| --- | --: | --: | --: | --: | --: | --: | --: |\n"
	for _, name := range names {
		s := sums[name]
		text += fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d | %.1f s |\n", name, s.cells, s.runs, s.fired, s.orders, s.violations, s.unsettled, s.settle/1000)
	}
	return text, nil
}

// mutantTable is out/mutants.json.
func mutantTable(_, out string) (string, error) {
	report, err := result[mutants.Report](out, "mutants.json")
	if report == nil || err != nil {
		return "", err
	}
	ok := 0
	text := "| | what is broken | under | caught by, or absorbed by | as expected |\n| --- | --- | --- | --- | --- |\n"
	for _, row := range report.Rows {
		mark := "**no**"
		if row.OK {
			ok++
			mark = "yes"
		}
		text += fmt.Sprintf("| %s | %s | %s | %s | %s |\n", row.Kind, row.Mutant, row.Cell, row.CaughtBy, mark)
	}
	return fmt.Sprintf("`make mutants`: %d of %d as expected.\n\n%s", ok, len(report.Rows), text), nil
}

// lockBench is out/lock-bench.json.
func lockBench(_, out string) (string, error) {
	report, err := result[struct {
		Rows []struct {
			Lock       string  `json:"lock"`
			Processes  int     `json:"processes"`
			Contenders int     `json:"contenders"`
			Paths      int     `json:"paths"`
			PerS       float64 `json:"per_s"`
			P50        float64 `json:"p50_ms"`
			P99        float64 `json:"p99_ms"`
			WakeUps    float64 `json:"wakeups_per_release"`
		} `json:"rows"`
	}](out, "lock-bench.json")
	if report == nil || err != nil {
		return "", err
	}
	text := "| lock | processes | contenders | paths | acquisitions/s | p50 ms | p99 ms | wake-ups for each release |\n| --- | --: | --: | --: | --: | --: | --: | --: |\n"
	for _, r := range report.Rows {
		text += fmt.Sprintf("| %s | %d | %d | %d | %.0f | %.2f | %.2f | %.1f |\n", r.Lock, r.Processes, r.Contenders, r.Paths, r.PerS, r.P50, r.P99, r.WakeUps)
	}
	return text, nil
}

// ladderTables is out/ladder.json, with its picture beside the README.
func ladderTables(root, out string) (string, error) {
	r, err := ladder.ReadResult(filepath.Join(out, "ladder.json"))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err == nil {
		err = r.Draw(filepath.Join(root, ".github", "ladder.svg"))
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Measured on %s, %s, %s.\n\nThe deduction call alone, one hot goods:\n\n%s\nWhole orders, one hot goods:\n\n%s\n![Throughput and latency by clients for each strategy](.github/ladder.svg)\n\n"+
		"What the default strategy is held to, with the standard error of each ratio by slices of 250 ms, which says too little where\nthere are few turns: one turn is off by a sixth (\"one hot goods\": the best of 64 and 256 clients):\n\n%s",
		r.Server, r.Machine, r.Date, r.Markdown(ladder.PathDeduct), r.Markdown(ladder.PathOrder), r.MarkdownRatios()), nil
}

// longRuns is out/ladder-growth.json, out/ladder-soak.json and out/ladder-replicas.json.
func longRuns(_, out string) (string, error) {
	growth, err := result[ladder.Growth](out, "ladder-growth.json")
	if err != nil {
		return "", err
	}
	soak, err := result[ladder.Soak](out, "ladder-soak.json")
	if err != nil {
		return "", err
	}
	replicas, err := result[ladder.Replicas](out, "ladder-replicas.json")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if growth != nil {
		fmt.Fprintf(&b, "Over %d orders and %d flow rows %.0f orders a second, over empty tables %.0f: %.2f ± %.2f times as many (to reach: %g).\n",
			growth.Orders, growth.Flows, growth.Grown.DonePerS, growth.Empty.DonePerS, growth.Ratio.Value, growth.Ratio.Error, growth.Ratio.Want)
	}
	if soak != nil {
		fmt.Fprintf(&b, "After %.0f minutes at %.0f orders a second, verdict %s, resident memory was", soak.Minutes, soak.DonePerS, soak.Verdict)
		for i, s := range soak.Services {
			if i > 0 {
				b.WriteString(" and")
			}
			fmt.Fprintf(&b, " %d MiB in %s, %.2f times that after %.0f minutes", s.End>>20, s.Name, s.Ratio, soak.Minutes/5)
		}
		b.WriteString(" (to reach: 0.9 to 1.1).\n")
	}
	if replicas != nil {
		for _, p := range replicas.Paths {
			if len(p.One) == 0 {
				continue
			}
			fmt.Fprintf(&b, "%d replicas and one in %d legs, path `%s`, %d clients on one hot goods: %.0f and %.0f a second, %.3f ± %.3f times as many (to reach: %g).\n",
				p.Several[0].Replicas, len(p.One), p.Path, p.One[0].Clients, ladder.PerS(p.Several), ladder.PerS(p.One), p.Ratio.Value, p.Ratio.Error, p.Ratio.Want)
		}
	}
	return b.String(), nil
}
