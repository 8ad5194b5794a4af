package linear

import (
	"errors"
	"fmt"
	"io"
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

// Check searches for a linearization of the calls for at most limit.
// The calls may come in any order. An error says that the calls are no history
// at all: an end before its begin, or two deductions under one flag.
//
// A linearization within narrower bounds is one within the wider: so the search
// looks near the hints first, then after them, and only then everywhere.
// Nothing but the last search can say that there is none.
func Check(calls []Call, limit time.Duration) (Result, error) {
	result := Unknown
	for _, bounds := range []func(Call) Call{nearHint, afterHint, anywhere} {
		operations, err := operationsOf(calls, bounds)
		if err != nil {
			return Unknown, err
		}
		if result = resultOf(porcupine.CheckOperationsTimeout(model(), operations, limit/3)); result == Linearizable {
			break
		}
	}
	return result, nil
}

// hintSlack is how far from its hint an effect is looked for first.
const hintSlack = int64(50 * time.Millisecond)

func nearHint(c Call) Call {
	if n := afterHint(c); c.Hint != 0 && c.Hint+hintSlack > n.Begin {
		n.End = min(n.End, c.Hint+hintSlack)
		return n
	}
	return c
}

func afterHint(c Call) Call {
	if c.Hint > c.Begin && c.Hint <= c.End {
		c.Begin = c.Hint
	}
	return c
}

func anywhere(c Call) Call { return c }

// Explain is Check that also writes porcupine's drawing of the history, a page
// of HTML with the longest linearizations found, to w.
func Explain(calls []Call, limit time.Duration, w io.Writer) (Result, error) {
	operations, err := operationsOf(calls, anywhere)
	if err != nil {
		return Unknown, err
	}
	m := model()
	result, info := porcupine.CheckOperationsVerbose(m, operations, limit)
	if err := porcupine.Visualize(m, info, w); err != nil {
		return resultOf(result), fmt.Errorf("draw history: %w", err)
	}
	return resultOf(result), nil
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

func operationsOf(calls []Call, bounds func(Call) Call) ([]porcupine.Operation, error) {
	operations := make([]porcupine.Operation, 0, len(calls))
	deducted := map[string]bool{}
	for i := range calls {
		c := &calls[i]
		if c.End < c.Begin {
			return nil, fmt.Errorf("%w: %s ends before it begins", errNoHistory, c)
		}
		if c.Kind == Deduct {
			if deducted[c.Flag] {
				return nil, fmt.Errorf("%w: two deductions under flag %s", errNoHistory, c.Flag)
			}
			deducted[c.Flag] = true
		}
		within := bounds(*c)
		operations = append(operations, porcupine.Operation{ClientId: i, Input: c, Call: within.Begin, Return: within.End})
	}
	return operations, nil
}
