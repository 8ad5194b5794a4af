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

// titles are the titles of the patches, and of the published lock that is right, by their names.
var titles = sync.OnceValue(func() map[string]string {
	all := map[string]string{"published-lock": strings.ToUpper(sound[:1]) + sound[1:]}
	patches, _ := system.Patches() // a test reads each
	for _, p := range patches {
		all[p.Name] = p.Title
	}
	return all
})

// Changes returns all differences of the code and the strategy of a side from the product.
func (f Fault) Changes(s Side) []Change {
	v, all := f.variant(s), []Change{}
	for _, name := range v.code() {
		all = append(all, Change{name, cmp.Or(titles()[name], f.Title)})
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

// Difference returns the changes of the broken variant alone, and the changes of both variants.
func (f Fault) Difference() (broken, both []Change) {
	fixed := f.Changes(Fixed)
	for _, c := range f.Changes(Broken) {
		if slices.Contains(fixed, c) {
			both = append(both, c)
		} else {
			broken = append(broken, c)
		}
	}
	return broken, both
}

// behindTheLock are the patches that remove the layers behind the lock, and these layers.
var behindTheLock = []struct{ patch, layer string }{
	{"read-modify-write", "the update's condition"}, {"no-fencing", "the fencing token"},
}

// Lesson says which layers behind the lock are off on both sides; "" if none is.
func (f Fault) Lesson() string {
	var off []string
	_, both := f.Difference()
	for _, l := range behindTheLock {
		if slices.ContainsFunc(both, func(c Change) bool { return c.Name == l.patch }) {
			off = append(off, l.layer)
		}
	}
	switch len(off) {
	case 0:
		return ""
	case 1:
		return "One more layer is off on both sides, as the fault alone does no harm: " + off[0] +
			". It would have caught it."
	}
	return "Two more layers are off on both sides, as the fault alone does no harm: " + strings.Join(off, " and ") +
		". Either would have caught it."
}

// MarshalJSON adds the changes of Broken and Fixed, for a page.
func (f Fault) MarshalJSON() ([]byte, error) {
	type plain Fault
	return json.Marshal(struct {
		plain
		BrokenChanges []Change `json:"broken_changes"`
		FixedChanges  []Change `json:"fixed_changes"`
		Lesson        string   `json:"lesson"`
	}{plain(f), f.Changes(Broken), f.Changes(Fixed), f.Lesson()})
}
