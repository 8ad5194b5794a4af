package ladder

import (
	"context"
	"errors"
	"fmt"
	"time"

	"orderstock/loadtest/stack"
)

// Watched compares the sales of the default strategy with and without an observer of the stack: whole orders on one hot
// product.
type Watched struct {
	Server  string `json:"server"`
	Machine string `json:"machine"`
	Date    string `json:"date"`
	Clients int    `json:"clients"`
	// Alone[i] and Watched[i] are sales a second of two turns, one after the other, on the same services.
	Alone   []float64 `json:"alone_per_s"`
	Watched []float64 `json:"watched_per_s"`
	// Ratio divides the sales while watched by the sales alone. Its error is the spread of the pairs of turns.
	Ratio   Ratio  `json:"ratio"`
	Verdict string `json:"verdict"`
}

// mostLost is the part of its sales that a strategy may lose while it is watched.
const mostLost = 0.02

// MeasureWatched fires at one stack in pairs of turns, two at least: one alone,
// one between watch and its stop. Each pair begins with the other. Config.Measure
// is the time of a turn.
func MeasureWatched(
	ctx context.Context, cfg Config, clients, pairs int,
	watch func(context.Context, *stack.Stack) (stop func() error, err error),
) (w Watched, err error) {
	w = Watched{Machine: machine(), Date: time.Now().UTC().Format(time.DateOnly), Clients: clients}
	if w.Server, err = serverVersion(ctx, cfg.Servers.MySQL); err != nil {
		return w, err
	}
	p := point{path: PathOrder, goods: 1, clients: clients}
	cfg.Measure *= time.Duration(p.rounds())
	st, err := up(ctx, cfg, 1, shape{Default, 1}, p.path)
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, down(ctx, cfg, st)) }()
	c := &contestant{shape: shape{Default, 1}, stack: st}
	turn := func(watched bool) (perS float64, err error) {
		if watched {
			stop, startErr := watch(ctx, st)
			if startErr != nil {
				return 0, startErr
			}
			defer func() { err = errors.Join(err, stop()) }()
		}
		if err := c.fire(ctx, cfg, p); err != nil {
			return 0, err
		}
		return c.reports[len(c.reports)-1].DonePerS, nil
	}
	if _, err := turn(true); err != nil { // warms everything up, and does not count
		return w, err
	}
	for pair := range pairs {
		var perS [2]float64
		for i := range 2 {
			watched := (pair+i)%2 == 1
			rate, err := turn(watched)
			if err != nil {
				return w, err
			}
			if watched {
				perS[1] = rate
			} else {
				perS[0] = rate
			}
		}
		if err := w.add(perS[0], perS[1]); err != nil {
			return w, err
		}
		cfg.Progress(fmt.Sprintf("pair %d of %d: %.0f/s alone, %.0f/s watched", pair+1, pairs, perS[0], perS[1]))
	}
	row, err := c.row(ctx, p)
	w.Verdict = row.Verdict
	if err != nil {
		return w, err
	}
	_, err = fmt.Fprintln(cfg.Table, w.Ratio.Line())
	return w, err
}

// add adds a pair of turns.
func (w *Watched) add(alone, watched float64) error {
	if alone <= 0 {
		return errors.New("nothing was sold")
	}
	w.Alone, w.Watched = append(w.Alone, alone), append(w.Watched, watched)
	w.Ratio = pairsRatio(fmt.Sprintf("order, one hot product: grouped, watched / alone, %d pairs", len(w.Alone)),
		w.Alone, w.Watched, 1-mostLost)
	return nil
}

// Judge judges as Result.Judge does.
func (w Watched) Judge(targets bool) error {
	return errors.Join(w.Ratio.judge(targets), passed(w.Verdict))
}
