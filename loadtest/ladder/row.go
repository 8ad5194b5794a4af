package ladder

import (
	"slices"

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
