package ladder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Replicas compares the throughput of several stock services with one, on one hot product under
// load. They do the same work, so it takes many turns to see a difference.
type Replicas struct {
	Server  string `json:"server"`
	Machine string `json:"machine"`
	Date    string `json:"date"`
	// Paths has a comparison for each of the ladder's paths.
	Paths []PathReplicas `json:"paths"`
}

// PathReplicas is the comparison on one path. Leg i measured One[i] and Several[i] in turns, with
// its own services and databases.
type PathReplicas struct {
	Path    string `json:"path"`
	One     []Row  `json:"one"`
	Several []Row  `json:"several"`
	// Ratio divides the sales of several by the sales of one, over all legs. Its error is the spread of the legs, so
	// that it holds the differences between services, databases and minutes.
	Ratio Ratio `json:"ratio"`
}

// replicasWindow is the least time for which each of the two is measured in a leg, over all rounds; as
// they are compared closely, they get three times that.
const replicasWindow = 6 * time.Second

// MeasureReplicas compares n stock services under the default strategy with one, on each path in that many legs, at
// least two. If a leg fails, the result has the ones before it.
func MeasureReplicas(ctx context.Context, cfg Config, n, clients, legs int) (r Replicas, err error) {
	r = Replicas{Machine: machine(), Date: time.Now().UTC().Format(time.DateOnly)}
	if r.Server, err = serverVersion(ctx, cfg.Servers.MySQL); err != nil {
		return r, err
	}
	cfg.Measure = max(cfg.Measure, replicasWindow)
	cfg.Plan = Plan{Strategies: []string{Default}, Replicas: []int{1, n}}
	r.Paths = []PathReplicas{{Path: PathDeduct}, {Path: PathOrder}}
	for leg := range legs {
		for i := range r.Paths {
			p := &r.Paths[i]
			cfg.Progress(fmt.Sprintf("leg %d of %d, path %s", leg+1, legs, p.Path))
			rows, err := measurePoint(ctx, cfg, 0, point{path: p.Path, goods: 1, clients: clients}, nil)
			if err != nil {
				return r, fmt.Errorf("leg %d, path %s: %w", leg+1, p.Path, err)
			}
			slices.SortFunc(rows, func(a, b Row) int { return a.Replicas - b.Replicas })
			if err := p.add(rows[0], rows[1]); err != nil {
				return r, fmt.Errorf("leg %d, path %s: %w", leg+1, p.Path, err)
			}
			if _, err := fmt.Fprintln(cfg.Table, p.Ratio.Line()); err != nil {
				return r, fmt.Errorf("print the ratio: %w", err)
			}
		}
		slices.Reverse(cfg.Plan.Replicas) // each leg begins with the other
	}
	return r, nil
}

// add adds a leg.
func (p *PathReplicas) add(one, several Row) error {
	if one.DonePerS <= 0 {
		return errors.New("one replica sold nothing")
	}
	p.One, p.Several = append(p.One, one), append(p.Several, several)
	p.Ratio = Ratio{
		Name:  fmt.Sprintf("%s, one hot product: grouped, %d replicas / one, %d legs", p.Path, several.Replicas, len(p.One)),
		Value: perSecond(p.Several) / perSecond(p.One), Error: legsError(p.One, p.Several), Want: 1,
	}
	p.Ratio.OK = p.Ratio.withinError()
	return nil
}

// perSecond returns the mean of the rows' sales a second.
func perSecond(rows []Row) (mean float64) {
	for _, row := range rows {
		mean += row.DonePerS / float64(len(rows))
	}
	return mean
}

// legsError returns the standard error of perSecond(b) / perSecond(a), if leg i measured a[i] and b[i]. It uses the
// formula for a ratio estimator, by how far each b is from the ratio times its a (W. G. Cochran, Sampling Techniques,
// chapter 6).
func legsError(a, b []Row) float64 {
	ratio := perSecond(b) / perSecond(a)
	off := make([]float64, len(a))
	for i := range a {
		off[i] = b[i].DonePerS - ratio*a[i].DonePerS
	}
	return standardError(off) / perSecond(a)
}

// Wrong returns the rows that the verifier did not pass.
func (r Replicas) Wrong() (wrong []Row) {
	for _, p := range r.Paths {
		wrong = append(wrong, slices.DeleteFunc(slices.Concat(p.One, p.Several),
			func(row Row) bool { return row.Verdict == "pass" })...)
	}
	return wrong
}
