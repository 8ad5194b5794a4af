package ladder

import (
	"errors"
	"fmt"

	"orderstock/loadtest/verify"
	"orderstock/pkg/command"
)

// Judge returns an error for each row without the expected verdict, for each strategy that lost deductions and, if
// targets is set, for each ratio that was missed. Its exit code is command.Failed, unless verdicts of unknown are all
// that is wrong.
func (r *Result) Judge(targets bool) error {
	var errs []error
	for _, ratio := range r.Ratios {
		errs = append(errs, ratio.judge(targets))
	}
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

// judge returns an error if the ratio is a target that was missed.
func (r Ratio) judge(target bool) error {
	if !target || r.OK {
		return nil
	}
	return command.Fail(fmt.Errorf("missed: %s: %.2f, want %g", r.Name, r.Value, r.Want))
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
