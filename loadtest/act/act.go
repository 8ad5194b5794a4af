package act

import (
	"context"
	"time"

	"orderstock/loadtest/lab"
	"orderstock/loadtest/trial"
)

// Act is an Action in a lab. It implements trial.Act.
type Act struct {
	Action
	lab  *lab.Lab
	hold time.Duration
	made *trial.Simple // nil until it is armed
}

// New returns the act of an action, which lasts for hold.
func New(l *lab.Lab, a Action, hold time.Duration) *Act { return &Act{Action: a, lab: l, hold: hold} }

// Arm implements trial.Act. The lab's services run. The error is a *problem.Problem if the action does not fit the lab
// or the state of its target.
func (a *Act) Arm(ctx context.Context) error {
	if err := a.Known(); err != nil {
		return err
	}
	made, err := kindOf(a.Action.Action).in(a.lab, a.Action)
	if err != nil {
		return err
	}
	a.made = made
	return made.Arm(ctx)
}

// Fired implements trial.Act. Call it after Arm.
func (a *Act) Fired(ctx context.Context) (int, error) { return a.made.Fired(ctx) }

// Hold implements trial.Act.
func (a *Act) Hold() time.Duration { return a.hold }

// Heal implements trial.Act.
func (a *Act) Heal(ctx context.Context) error {
	if a.made == nil {
		return nil
	}
	return a.made.Heal(ctx)
}

// On returns the target of the action.
func (a *Act) On() Target { return kindOf(a.Action.Action).Target }
