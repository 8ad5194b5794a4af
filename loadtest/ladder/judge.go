package ladder

import (
	"errors"
	"fmt"
	"io"

	"orderstock/loadtest/verify"
)

// Failure is a failed measurement: a missed target, or a wrong verdict. A verdict of unknown is an error of another
// type.
type Failure struct{ text string }

func (f Failure) Error() string { return f.text }

// Judge returns an error for each row without the expected verdict and, if targets is set, for
// each ratio that was missed.
func (r *Result) Judge(targets bool) error {
	var err error
	for _, ratio := range r.Ratios {
		err = errors.Join(err, ratio.judge(targets))
	}
	for _, row := range r.Wrong() {
		err = errors.Join(err, row.wrong())
	}
	for _, s := range r.Survival {
		err = errors.Join(err, s.lost())
	}
	return err
}

// Judge judges as Result.Judge does.
func (g Growth) Judge(targets bool) error {
	return errors.Join(g.Ratio.judge(targets), passed(g.Empty.Verdict), passed(g.Grown.Verdict))
}

// Write prints the two rows and their ratio.
func (g Growth) Write(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s\n%s\n%s\n%s\n", g.Server, g.Empty.Line(), g.Grown.Line(), g.Ratio.Line())
	return err
}

// Judge judges as Result.Judge does; the target is that no service's memory changed by more than a tenth.
func (s Soak) Judge(targets bool) error {
	var err error
	for _, service := range s.Services {
		if targets && (service.Ratio < 0.9 || service.Ratio > 1.1) {
			err = errors.Join(err, Failure{fmt.Sprintf("missed: memory of %s: ratio %.2f", service.Name, service.Ratio)})
		}
	}
	return errors.Join(err, passed(s.Verdict))
}

// Write prints the sales, the verdict and each service's memory.
func (s Soak) Write(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%.0f minutes at %.0f orders/s; verdict %s\n", s.Minutes, s.DonePerS, s.Verdict)
	for _, service := range s.Services {
		if err == nil {
			_, err = fmt.Fprintf(w, "%-10s %4d MiB after a fifth of the time, %4d MiB at the end: ratio %.2f, want 0.9 to 1.1\n",
				service.Name, service.Early>>20, service.End>>20, service.Ratio)
		}
	}
	return err
}

// judge returns an error if the ratio is a target that was missed.
func (r Ratio) judge(target bool) error {
	if !target || r.OK {
		return nil
	}
	return Failure{fmt.Sprintf("missed: %s: %.2f, want %g", r.Name, r.Value, r.Want)}
}

// wrong returns the error for a verdict that was not expected.
func (r Row) wrong() error {
	return verdictError(r.Verdict, fmt.Sprintf("verdict %s on %s, path %s, %d clients", r.Verdict, r.Strategy, r.Path,
		r.Clients))
}

func passed(verdict string) error {
	if verdict == string(verify.Pass) {
		return nil
	}
	return verdictError(verdict, "verdict "+verdict)
}

func verdictError(verdict, text string) error {
	if verdict == string(verify.Unknown) {
		return errors.New(text)
	}
	return Failure{text}
}
