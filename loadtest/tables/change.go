package tables

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"orderstock/loadtest/system"
	"orderstock/stock-service/deduct"
)

// Change is one difference of the services of a side from the product.
type Change struct {
	// Name is a patch, a switch of the published lock, or a setting.
	Name string `json:"name"`
	Says string `json:"says"`
}

// titles are the patches' titles, by their names.
var titles = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	patches, _ := system.Patches() // a test reads each
	for _, p := range patches {
		all[p.Name] = p.Title
	}
	return all
})

// Changes returns all differences of the code and the strategy of a side from the product.
func (f Fault) Changes(s Side) []Change {
	v := f.Fixed
	if s == Broken {
		v = f.Broken
	}
	all := []Change{}
	if v.Mutants != "" {
		for name := range strings.SplitSeq(v.Mutants, ",") {
			all = append(all, Change{name, cmp.Or(titles()[name], f.Title)})
		}
	}
	if v.Strategy != "" && v.Strategy != deduct.Default {
		says := "Each order takes the lock for itself"
		if "STOCK_STRATEGY="+v.Strategy == f.Source.Name {
			says = f.Title
		}
		all = append(all, Change{"STOCK_STRATEGY=" + v.Strategy, says})
	}
	return all
}

// behindTheLock are the patches that remove the two layers behind the lock.
var behindTheLock = []string{"read-modify-write", "no-fencing"}

// Lesson says which layers the broken side lacks in addition to its fault; "" if it lacks none.
func (f Fault) Lesson() string {
	off := strings.Split(f.Broken.Mutants, ",")
	if slices.ContainsFunc(behindTheLock, func(name string) bool { return !slices.Contains(off, name) }) {
		return ""
	}
	return "Two more layers are off, as the fault alone does no harm: the update's condition and the fencing token. " +
		"Either would have caught it."
}

// MarshalJSON adds the changes of both sides, for a page.
func (f Fault) MarshalJSON() ([]byte, error) {
	type plain Fault
	return json.Marshal(struct {
		plain
		BrokenChanges []Change `json:"broken_changes"`
		FixedChanges  []Change `json:"fixed_changes"`
		Lesson        string   `json:"lesson"`
	}{plain(f), f.Changes(Broken), f.Changes(Fixed), f.Lesson()})
}
