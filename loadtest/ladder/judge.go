package ladder

import (
	"errors"
	"fmt"

	"orderstock/loadtest/verify"
	"orderstock/pkg/command"
)

// Judge returns an error for each row without the expected verdict, and for each strategy that lost deductions. Its
// exit code is command.Failed, unless verdicts of unknown are all that is wrong.
func (r *Result) Judge() error {
	var errs []error
	for _, row := range r.Rows {
		if row.wrong() {
			errs = append(errs, unexpected(row.Verdict, " on %s, path %s, %d clients", row.Strategy, row.Path, row.Clients))
		}
	}
	for _, s := range r.Survival {
		if s.lost() {
			errs = append(errs, unexpected(s.Verdict, " on %s, %s: %v", s.Strategy, s.Fault, s.Broken))
		}
	}
	return errors.Join(errs...)
}

// wrong reports whether the row has another verdict than expected: violation for the unsafe strategy under load, pass
// for all others.
func (r Row) wrong() bool {
	if r.Strategy == Unsafe {
		return r.Clients > 1 && r.Goods == 1 && r.Verdict != verify.Violation
	}
	return r.Verdict != verify.Pass
}

// Judge judges as Result.Judge does.
func (c *Comparison) Judge() error {
	worst := verify.Pass
	for _, l := range c.Loads {
		worst = worst.Or(l.Verdict)
	}
	return passed(worst)
}

// Judge judges as Result.Judge does.
func (s Scale) Judge() error {
	worst := verify.Pass
	for _, r := range s.AllRows() {
		worst = worst.Or(r.Verdict)
	}
	for _, f := range s.Failing {
		worst = worst.Or(f.Verdict)
	}
	if s.Compose != nil {
		worst = worst.Or(s.Compose.Verdict)
	}
	return passed(worst)
}

func passed(verdict verify.Outcome) error {
	if verdict == verify.Pass {
		return nil
	}
	return unexpected(verdict, "")
}

// unexpected returns the error for a verdict on something.
func unexpected(verdict verify.Outcome, on string, args ...any) error {
	err := fmt.Errorf("verdict %s"+on, append([]any{verdict}, args...)...)
	if verdict == verify.Unknown {
		return err
	}
	return command.Fail(err)
}
