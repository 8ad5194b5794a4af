// Package catalogue holds the published faults of the case study, A to Q: the defect, its fix here, the regression
// tests, and the experiment that shows it broken and fixed. It is data for the console, the commands play and tour, and
// the tables of the documents.
package catalogue

import (
	"fmt"
	"slices"
	"strings"

	"orderstock/loadtest/fire"
)

// Side is one of the two variants of a fault.
type Side string

// The sides.
const (
	Broken Side = "broken"
	Fixed  Side = "fixed"
)

// Fault is a published fault.
type Fault struct {
	Letter, Title string
	// Says explains the fault to a reader who does not know the code, Idea as pseudocode.
	Says, Idea string
	// Fix is how this project avoids it.
	Fix string
	// Tests are the regression tests.
	Tests []Link
	// Source is the patch, the switch of the published lock or the strategy that brings the fault back.
	Source Link

	// Load is sent to both variants, whose services run with Env.
	Load fire.Config
	Env  map[string]string
	// Broken and Fixed are the differences of the two variants' services from the product.
	Broken, Fixed Variant
	// Strike, if not "", names the cell of the fault matrix that strikes during the run.
	Strike string
	// MinusFive sends an order for minus five pieces during the run.
	MinusFive bool
	// Demand, if not "", is checked in addition to the verdict.
	Demand Demand
	// Rate, if not "", names the rate to compare: the fault costs time, not pieces.
	Rate string
}

// Link is a name in the code, and its file relative to the module's root.
type Link struct{ Name, File string }

// Variant is the difference of a run's services from the product.
type Variant struct {
	// Mutants are the patches and switches that are on, separated by commas.
	Mutants string
	// Strategy is the deduction strategy; "" is the default.
	Strategy string
	// Env is added to the environment of the fault.
	Env map[string]string
	// Says describes the difference, if it is more or less than the fault.
	Says string
}

// Demand is a condition on a run in addition to the verdict.
type Demand string

// The demands.
const (
	// NobodyGivenUp: an order is cancelled only if a client cancelled it.
	NobodyGivenUp Demand = "not-given-up"
	// NobodyFailed: the first answer to each order confirms or rejects it.
	NobodyFailed Demand = "first-answer-is-an-end"
)

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
