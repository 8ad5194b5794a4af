package changes

import (
	"context"
	"fmt"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
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

// Record fires a run of the kind at the target and reads the databases, which must be empty before. It calls disturb
// during a run under faults.
func (k Kind) Record(
	ctx context.Context, target fire.Target, databases verify.Databases, disturb func(context.Context) error,
) (*Base, error) {
	cfg := k.Config
	cfg.Target = target
	disturbed := make(chan error, 1)
	if k.Faults {
		middle := time.AfterFunc(time.Second, func() { disturbed <- disturb(ctx) })
		defer middle.Stop()
	} else {
		disturbed <- nil
	}
	h, err := fire.Run(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("record run %s: %w", k.Name, err)
	}
	if err := <-disturbed; err != nil {
		return nil, fmt.Errorf("record run %s: %w", k.Name, err)
	}
	// This waits until all orders have ended. Run finds any violation again.
	if _, err := verify.Run(ctx, verify.Config{Databases: databases, History: h}); err != nil {
		return nil, fmt.Errorf("record run %s: %w", k.Name, err)
	}
	books, err := verify.Read(ctx, databases)
	if err != nil {
		return nil, fmt.Errorf("record run %s: %w", k.Name, err)
	}
	return &Base{Name: k.Name, Books: books, History: h}, nil
}
