// Package tables holds the tables of experiments as data, a file for each: the published faults of the case study, A
// to Q, with the defect, its fix here and the regression tests; the fault matrix, around each step of an order, around
// the system and in a cluster; the storm; the mutants.
//
// The mutants prove that the checker can fail. They are broken variants of the services, each under a cell of the
// matrix that exposes it, and the requirement named beforehand must catch it. Each layer of safety is removed alone,
// and the row says which other layer absorbs the loss. The tests in verify/verifytest change the checker's input.
//
// A Player plays the published faults, and loads of one's own, for the console and for the command line.
package tables

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"orderstock/loadtest/faultpoint"
	"orderstock/loadtest/fire"
	"orderstock/loadtest/lanes"
	"orderstock/loadtest/trial"
)

// Side is one of the three variants of a fault.
type Side string

// The sides. Broken and Fixed differ in one thing, the fault; Here is the product.
const (
	Broken Side = "broken"
	Fixed  Side = "fixed"
	Here   Side = "here"
)

// Sides lists all sides.
var Sides = []Side{Broken, Fixed, Here}

// Fault is a published fault. A page reads its JSON.
type Fault struct {
	Letter string `json:"letter"`
	Title  string `json:"title"`
	// Says explains the fault to a reader who does not know the code, Idea as pseudocode.
	Says string `json:"says"`
	Idea string `json:"idea"`
	// Fix is how this project avoids it.
	Fix string `json:"fix"`
	// Tests are the regression tests.
	Tests []Link `json:"tests"`
	// Source is the patch, the switch of the published lock or the strategy that brings the fault back.
	Source Link `json:"source"`

	// Load is sent to all variants, whose services run with Env.
	Load fire.Config       `json:"-"`
	Env  map[string]string `json:"-"`
	// Broken and Fixed are the differences of the two variants' services from the product.
	Broken Variant `json:"broken"`
	Fixed  Variant `json:"fixed"`
	// Strike, if not "", names the cell of the fault matrix that strikes during the run.
	Strike string `json:"-"`
	// OtherStocks are points of the other stock service that must have struck before a holder wakes up that Strike
	// pauses.
	OtherStocks []faultpoint.Rule `json:"-"`
	// Always are acts from the first order to the end of the load.
	Always []trial.Action `json:"-"`
	// Checks are made in addition to the verdict.
	Checks []trial.Check `json:"-"`
	// Went describes a run of the broken variant that went wrong, by what became of its pieces and orders; "" if that does
	// not show it. Nil: by the pieces sold.
	Went func(Ends) string `json:"-"`
	// Scene picks what a run shows of the orders that met. Nil: nothing yet.
	Scene func(*lanes.Run) *lanes.Scene `json:"-"`
	// Rate, if not "", names the rate to compare: the fault costs time, not pieces.
	Rate string `json:"rate"`
}

// Link is a name in the code, and its file relative to the module's root.
type Link struct {
	Name string `json:"name"`
	File string `json:"file"`
}

// Variant is the difference of a run's services from the product.
type Variant struct {
	// Mutants are the patches and switches that are on, separated by commas.
	Mutants string `json:"-"`
	// Strategy is the deduction strategy; "" is the default.
	Strategy string `json:"-"`
	// Settle, if not 0, bounds the wait after the traffic for the end of calls and orders. If they never end, a short wait
	// shows it.
	Settle time.Duration `json:"-"`
	// Says describes the variant, if its name does not.
	Says string `json:"says"`
}

// variant returns the variant of a side.
func (f Fault) variant(s Side) Variant {
	switch s {
	case Broken:
		return f.Broken
	case Fixed:
		return f.Fixed
	}
	return Variant{Says: "as it runs here"}
}

// Among returns the fault for that many buyers and, in proportion, fewer pieces: all of them, unless they are fewer.
func (f Fault) Among(buyers int) Fault {
	if l := &f.Load; buyers > 0 && buyers < l.Orders {
		l.Mix.Stock = max(1, l.Mix.Stock*int64(buyers)/int64(l.Orders))
		l.Orders = buyers
	}
	return f
}

// fewer returns half of the buyers of a sale; 0 if the fault shows in another way, or if that is less than a quarter of
// all.
func (f Fault) fewer(buyers int) int {
	if half := buyers / 2; f.oversells() && 4*half >= f.Load.Orders {
		return half
	}
	return 0
}

// Find returns the fault with that letter, in either case. Its error lists the letters.
func Find(letter string) (Fault, error) {
	i := slices.IndexFunc(Published, func(f Fault) bool { return f.Letter == strings.ToUpper(letter) })
	if i < 0 {
		return Fault{}, fmt.Errorf("there is no fault %q; there are A to Q", letter)
	}
	return Published[i], nil
}

// Letters returns the letters of all faults.
func Letters() []string {
	letters := make([]string, len(Published))
	for i, f := range Published {
		letters[i] = f.Letter
	}
	return letters
}

// Kind is "time" for a fault that only costs time, otherwise "books".
func (f Fault) Kind() string {
	if f.Rate != "" {
		return "time"
	}
	return "books"
}
