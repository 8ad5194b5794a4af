package linear

import (
	"errors"
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"
)

// Result is the verdict on a history.
type Result string

// The verdicts.
const (
	Linearizable Result = "pass"
	Violation    Result = "violation"
	// Unknown: the search did not end within its time.
	Unknown Result = "unknown"
)

// Check searches for a linearization of the calls for at most limit. The calls may come in any order. An error means
// that the calls are not a history: an end before its begin, or two deductions under one flag.
//
// A linearization found within narrower bounds, or with some calls taking effect together, is also one of the calls as
// they are. So Check first groups calls with the same hint and searches near the hints, then after them, and only then
// each call within its full bounds. Only this last search can prove that there is no linearization.
func Check(calls []Call, limit time.Duration) (Result, error) {
	if err := validate(calls); err != nil {
		return Unknown, err
	}
	result := Unknown
	for _, operations := range [][]porcupine.Operation{
		together(calls, nearHint), together(calls, afterHint),
		alone(calls),
	} {
		if result = resultOf(porcupine.CheckOperationsTimeout(model(), operations, limit/3)); result == Linearizable {
			break
		}
	}
	return result, nil
}

// hintSlack is how long after its hint an effect is searched for first.
const hintSlack = int64(300 * time.Millisecond)

func nearHint(c *Call) (begin, end int64) {
	begin, end = afterHint(c)
	if c.Hint != 0 && c.Hint+hintSlack > begin {
		end = min(end, c.Hint+hintSlack)
	}
	return begin, end
}

func afterHint(c *Call) (begin, end int64) {
	if c.Hint > c.Begin && c.Hint <= c.End {
		return c.Hint, c.End
	}
	return c.Begin, c.End
}

// together merges the calls with the same hint into one operation, if one moment is within the bounds of all of them.
func together(calls []Call, bounds func(*Call) (begin, end int64)) []porcupine.Operation {
	var operations []porcupine.Operation
	byHint := map[int64]int{}
	for i := range calls {
		c := &calls[i]
		begin, end := bounds(c)
		if at, ok := byHint[c.Hint]; ok && c.Hint != 0 {
			if op := &operations[at]; max(op.Call, begin) <= min(op.Return, end) {
				op.Call, op.Return = max(op.Call, begin), min(op.Return, end)
				op.Input = append(op.Input.(batch), c)
				continue
			}
		}
		byHint[c.Hint] = len(operations)
		operations = append(operations, porcupine.Operation{ClientId: i, Input: batch{c}, Call: begin, Return: end})
	}
	for _, op := range operations {
		op.Input.(batch).sort()
	}
	return operations
}

// alone makes an operation of each call, within its own bounds.
func alone(calls []Call) []porcupine.Operation {
	operations := make([]porcupine.Operation, len(calls))
	for i := range calls {
		c := &calls[i]
		operations[i] = porcupine.Operation{ClientId: i, Input: batch{c}, Call: c.Begin, Return: c.End}
	}
	return operations
}

func resultOf(r porcupine.CheckResult) Result {
	switch r {
	case porcupine.Ok:
		return Linearizable
	case porcupine.Illegal:
		return Violation
	default:
		return Unknown
	}
}

var errNoHistory = errors.New("not a history")

func validate(calls []Call) error {
	deducted := map[string]bool{}
	for i := range calls {
		c := &calls[i]
		if c.End < c.Begin {
			return fmt.Errorf("%w: %s ends before it begins", errNoHistory, c)
		}
		if c.Kind == Deduct {
			if deducted[c.Flag] {
				return fmt.Errorf("%w: two deductions under flag %s", errNoHistory, c.Flag)
			}
			deducted[c.Flag] = true
		}
	}
	return nil
}
