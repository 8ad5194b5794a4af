package changes

import (
	"context"
	"fmt"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
)

// Kind is one of the three kinds of runs to change.
type Kind struct {
	Name   string
	Config fire.Config
	// Faults is true if services are killed during the run.
	Faults bool
}

// Kinds are the runs to change: a calm one with repeats and cancellations, one under faults that leave results unknown,
// and one of deductions alone.
func Kinds() []Kind {
	mix := fire.Mix{Goods: 3, Stock: 60, Repeat: 0.3, Cancel: 0.3, Seed: 1}
	calm := fire.Config{Orders: 100, Concurrency: 16, Mix: mix}
	faults := fire.Config{Orders: 120, Concurrency: 16, Rate: 60, Timeout: time.Second, Insist: time.Second, Mix: mix}
	deduct := calm
	deduct.Path = history.PathDeduct
	return []Kind{{"calm", calm, false}, {"under faults", faults, true}, {"deduct", deduct, false}}
}

// Record fires a run of the kind at a system and reads its databases, which must be empty before. It calls disturb
// during a run under faults.
func (k Kind) Record(ctx context.Context, system trial.System, disturb func(context.Context) error) (*Base, error) {
	t := trial.On(system, k.Config)
	if k.Faults {
		t.Acts = []trial.Timed{{Act: &trial.Act{Do: disturb}, Action: trial.Action{}.At(time.Second)}}
	}
	r, err := t.Run(ctx) // it waits until all orders have ended; Base.Run finds any violation again
	if err != nil {
		return nil, fmt.Errorf("record run %s: %w", k.Name, err)
	}
	books, err := verify.Read(ctx, system.Databases())
	if err != nil {
		return nil, fmt.Errorf("record run %s: %w", k.Name, err)
	}
	return &Base{Name: k.Name, Books: books, History: r.History}, nil
}
