package ladder

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"orderstock/loadtest/verify"
)

// Paths that a row can measure.
const (
	// PathDeduct makes the deduction alone, as the order service does: the flag is set in Redis, and
	// the call is made by the stock service's client, so concurrent calls share requests.
	PathDeduct = "deduct"
	// PathOrder places whole orders through the order service.
	PathOrder = "order"
)

// Row is one measured point. Latencies are in milliseconds.
type Row struct {
	Strategy string `json:"strategy"`
	Path     string `json:"path"`
	// Replicas of the stock service.
	Replicas int `json:"replicas"`
	// Goods counts the products that the clients ask for: 1 is one hot product, more are drawn by Zipf's law.
	Goods   int `json:"goods"`
	Clients int `json:"clients"`
	// DonePerS counts sales, RejectedPerS refusals for want of stock.
	DonePerS float64 `json:"done_per_s"`
	// DoneError is the standard error of DonePerS.
	DoneError    float64 `json:"done_error"`
	RejectedPerS float64 `json:"rejected_per_s"`
	P50MS        float64 `json:"p50_ms"`
	P99MS        float64 `json:"p99_ms"`
	// WakeupsPerRelease is the watch events that ZooKeeper sent for each lock taken
	// and released, the holder's own watch for the loss of its node among them; 0
	// without ZooKeeper.
	WakeupsPerRelease float64 `json:"wakeups_per_release"`
	// Verdict is the verifier's over the row's products.
	Verdict verify.Outcome `json:"verdict"`
	// SellOut marks the row whose stock ends halfway.
	SellOut bool `json:"sell_out,omitempty"`
}

// Result is a whole run.
type Result struct {
	Bench
	Rows []Row `json:"rows"`
	// Survival has the deductions that each strategy kept when something broke under it.
	Survival []Survival `json:"survival,omitempty"`
	// Ratios are the run's ratios with the default strategy's targets.
	Ratios []Ratio `json:"ratios,omitempty"`
}

// header stands above the lines of the table as it grows.
const header = "strategy            path    replicas  goods  clients     done/s  rejected/s" +
	"    p50 ms    p99 ms  wakeups  verdict"

// Line returns the row as a line under the table's header.
func (r Row) Line() string {
	sellOut := ""
	if r.SellOut {
		sellOut = "  (sell-out)"
	}
	return fmt.Sprintf("%-19s %-7s %8d  %5d  %7d  %9.0f  %10.0f  %8.2f  %8.2f  %7.2f  %s%s",
		r.Strategy, r.Path, r.Replicas, r.Goods, r.Clients, r.DonePerS, r.RejectedPerS, r.P50MS, r.P99MS,
		r.WakeupsPerRelease, r.Verdict, sellOut)
}

// Markdown returns the rows of one hot product and one replica as a table for
// the README: a line for each strategy, sales a second and p99 for each number of clients.
func (r *Result) Markdown(path string) string {
	rows := slices.DeleteFunc(slices.Clone(r.Rows), func(row Row) bool {
		return row.Path != path || row.Goods != 1 || row.Replicas != 1 || row.SellOut
	})
	clients := distinct(rows, func(row Row) int { return row.Clients })
	slices.Sort(clients)
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(b.DonePerS, a.DonePerS) })
	strategies := distinct(rows, func(row Row) string { return row.Strategy })
	slices.Reverse(strategies) // the best last
	var b strings.Builder
	b.WriteString("| strategy |")
	for _, c := range clients {
		fmt.Fprintf(&b, " %d clients |", c)
	}
	b.WriteString(" calm | service killed | Redis flushed |\n| --- |" + strings.Repeat(" --- |", len(clients)+3) + "\n")
	for _, s := range strategies {
		fmt.Fprintf(&b, "| `%s` |", s)
		verdict := verify.Pass
		for _, c := range clients {
			if row := find(rows, s, path, 1, 1, c); row.Verdict != "" {
				fmt.Fprintf(&b, " %.0f/s, p99 %.1f ms", row.DonePerS, row.P99MS)
				verdict = worse(verdict, row.Verdict)
			}
			b.WriteString(" |")
		}
		fmt.Fprintf(&b, " %s | %s | %s |\n", verdict, r.survived(s, Killed), r.survived(s, Flushed))
	}
	return b.String()
}

// LockCost compares grouped with the same groups without a lock, as a list in Markdown; "" if they were not both
// measured.
func (r *Result) LockCost() string {
	var parts []string
	for _, path := range []string{PathDeduct, PathOrder} {
		for _, replicas := range distinct(r.Rows, func(row Row) int { return row.Replicas }) {
			with, without := most(r.Rows, Default, path, replicas), most(r.Rows, "grouped-rows", path, replicas)
			if with.DonePerS <= 0 || without.DonePerS <= 0 {
				continue
			}
			ratio := compare("", with, without, 0)
			parts = append(parts, fmt.Sprintf("path %s, stock services: %d: %.0f/s with it, %.0f/s without, %.2f ± %.2f times",
				path, replicas, with.DonePerS, without.DonePerS, ratio.Value, ratio.Error))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "Cost or gain of the lock of `grouped`, against the same groups without it (`grouped-rows`), " +
		"one hot product:\n\n- " + strings.Join(parts, "\n- ") + "\n"
}

// distinct returns the values of key in the order of their first appearance.
func distinct[K comparable](rows []Row, key func(Row) K) []K {
	var keys []K
	for _, row := range rows {
		if k := key(row); !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return keys
}

// MarkdownRatios returns the ratios as a table for the README.
func (r *Result) MarkdownRatios() string {
	var b strings.Builder
	b.WriteString("| compared | ratio | to reach |\n| --- | --- | --- |\n")
	for _, ratio := range r.Ratios {
		fmt.Fprintf(&b, "| %s | %.2f", ratio.Name, ratio.Value)
		if ratio.Error > 0 {
			fmt.Fprintf(&b, " ± %.2f", ratio.Error)
		}
		fmt.Fprintf(&b, " | %g", ratio.Want)
		switch {
		case !ratio.OK:
			b.WriteString(", **missed**")
		case ratio.Value < ratio.Want:
			b.WriteString(", within its error")
		}
		b.WriteString(" |\n")
	}
	return b.String()
}
