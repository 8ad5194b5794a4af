package ladder

import (
	"context"
	"errors"
	"fmt"
	"time"

	"orderstock/loadtest/verify"
)

// Comparison is two variants of the services under one load, measured in legs of a turn each.
type Comparison struct {
	Server  string `json:"server"`
	Machine string `json:"machine"`
	Date    string `json:"date"`
	// A[i] and B[i] are sales a second in leg i.
	A []float64 `json:"a_per_s"`
	B []float64 `json:"b_per_s"`
	// Ratio divides the sales of B by the sales of A, over all legs. Its error is the spread of the legs, so that it holds
	// what differs from leg to leg: the minute and, if they are new for each, processes and databases.
	Ratio Ratio `json:"ratio"`
	// Verdict is the worst of all turns.
	Verdict string `json:"verdict"`
}

// newComparison returns a comparison without a leg yet. name names the variants, such as "watched / alone".
func newComparison(ctx context.Context, cfg Config, name string, want float64) (c Comparison, err error) {
	c = Comparison{
		Machine: machine(), Date: time.Now().UTC().Format(time.DateOnly), Verdict: string(verify.Pass),
		Ratio: Ratio{Name: name, Want: want},
	}
	c.Server, err = serverVersion(ctx, cfg.Servers.MySQL)
	return c, err
}

// measure measures n legs, at least two. turn measures A or B, and each leg begins with the other.
func (c *Comparison) measure(cfg Config, n int, turn func(leg int, b bool) (perS float64, err error)) error {
	for leg := range n {
		var a, b float64
		for i := range 2 {
			second := (leg+i)%2 == 1
			perS, err := turn(leg, second)
			if err != nil {
				return fmt.Errorf("leg %d: %w", leg+1, err)
			}
			if second {
				b = perS
			} else {
				a = perS
			}
		}
		if err := c.add(a, b); err != nil {
			return fmt.Errorf("leg %d: %w", leg+1, err)
		}
		cfg.Progress(fmt.Sprintf("leg %d of %d: %.0f/s and %.0f/s", leg+1, n, a, b))
	}
	return c.print(cfg)
}

// add adds a leg.
func (c *Comparison) add(a, b float64) error {
	if a <= 0 {
		return errors.New("nothing was sold")
	}
	c.A, c.B = append(c.A, a), append(c.B, b)
	c.Ratio.Value, c.Ratio.Error = mean(c.B)/mean(c.A), legsError(c.A, c.B)
	c.Ratio.OK = c.Ratio.withinError()
	return nil
}

func (c *Comparison) print(cfg Config) error {
	if _, err := fmt.Fprintln(cfg.Table, c.Ratio.Line()); err != nil {
		return fmt.Errorf("print the ratio: %w", err)
	}
	return nil
}

// Judge judges as Result.Judge does.
func (c Comparison) Judge(targets bool) error {
	return errors.Join(c.Ratio.judge(targets && len(c.A) > 0), passed(c.Verdict))
}

// worse returns the worse of two verdicts.
func worse(a, b string) string {
	if a == string(verify.Violation) || b == string(verify.Pass) {
		return a
	}
	return b
}

func mean(values []float64) (m float64) {
	for _, v := range values {
		m += v / float64(len(values))
	}
	return m
}

// legsError returns the standard error of mean(b) / mean(a), if leg i measured a[i] and b[i]. It uses the formula for a
// ratio estimator, by how far each b is from the ratio times its a (W. G. Cochran, Sampling Techniques, chapter 6).
func legsError(a, b []float64) float64 {
	ratio := mean(b) / mean(a)
	off := make([]float64, len(a))
	for i := range a {
		off[i] = b[i] - ratio*a[i]
	}
	return standardError(off) / mean(a)
}
