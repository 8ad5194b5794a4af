package tables

import (
	"cmp"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/trial"
	"orderstock/pkg/httpapi"
	"orderstock/stock-service/deduct"
)

// Custom is an experiment of one's own: a load, and what breaks during it. A zero field means the default.
type Custom struct {
	Load     fire.Config `json:",inline"`
	Strategy string      `json:"strategy,omitzero" flag:"strategy" help:"how the stock services deduct: {strategies} (default {strategy})"`
	// Settle is how long after the last answer orders may take to finish before they count as hanging. Default 20 s.
	Settle time.Duration `json:"settle_s,omitzero,format:sec" flag:"settle" default:"20s" bounds:"1ms 5m" help:"how long to wait for unfinished orders to end"`
	// TraceSample is the share of the orders that are traced. Default 0.01.
	TraceSample float64        `json:"trace_sample,omitzero"`
	Faults      []trial.Action `json:"faults,omitzero"`
}

// The defaults of a run that is played.
const (
	settle = 20 * time.Second
	traced = 0.01
)

// Play returns the experiment that plays it in a lab or, without one, at services that run, and its run. program is the
// load tester's name in a shell.
func (o Custom) Play(program string, lab bool) (trial.Experiment, Run) {
	for o.Load.Mix.Seed == 0 {
		o.Load.Mix.Seed = rand.Uint64N(1 << 32)
	}
	e := trial.Experiment{
		Name: "custom", Load: o.Load, Acts: slices.Clone(o.Faults), Tries: 1, Settle: cmp.Or(o.Settle, settle),
	}
	for i := range e.Acts {
		e.Acts[i].Optional = true
	}
	run := Run{
		Title: "free play", Command: program + " fire" + o.flags(lab), TraceSample: cmp.Or(o.TraceSample, traced),
	}
	if lab {
		e.Services = trial.Services{Strategy: cmp.Or(o.Strategy, deduct.Default), Env: Env, Fresh: true}
		run.Command = program + " run" + o.flags(lab)
	}
	return e, run.of(e, 1, o.Load.Mix.Seed)
}

// Settings lists the settings of the load, and the two other numbers.
func (o *Custom) Settings() []fire.Setting {
	return append(o.Load.Settings(),
		fire.Setting{
			Name: "settle_s", Flag: "settle", Says: "how long to wait for unfinished orders to end; 0: 20 s",
			Label: "Seconds to settle", Most: 300, Unit: "s", To: &o.Settle,
		},
		fire.Setting{
			Name: "trace_sample", Flag: "trace-sample", Says: "share of orders of which every step is recorded; 0: 0.01",
			Label: "Traced", Most: 1, To: &o.TraceSample,
		},
	)
}

// Validate returns a *httpapi.Problem that names the first invalid field and its valid values.
func (o *Custom) Validate() error {
	load := o.Load
	if load.Path != "" && load.Path != history.PathOrder && load.Path != history.PathDeduct {
		return invalid("path %q: want order or deduct", load.Path)
	}
	for _, setting := range o.Settings() {
		if err := setting.Check(); err != nil {
			return invalid("%v", err)
		}
	}
	if load.Rate > 0 && load.Rate < fire.LeastRate {
		return invalid("rate %v: want 0, or %v to 100000", load.Rate, fire.LeastRate)
	}
	if load.Duration > 0 && load.Warmup >= load.Duration {
		return invalid("warmup_s %g: want less than duration_s, %g", load.Warmup.Seconds(), load.Duration.Seconds())
	}
	if o.Strategy != "" {
		if _, err := deduct.Find(o.Strategy); err != nil {
			return invalid("%v", err)
		}
	}
	for _, f := range o.Faults {
		if err := f.Known(); err != nil {
			return err
		}
		if f.AfterMS < 0 || f.AfterMS > mostAfterMS {
			return invalid("after_ms %d of fault %s: want 0 to %d", f.AfterMS, f.Action, mostAfterMS)
		}
	}
	return nil
}

// mostAfterMS is the latest moment of a fault: the longest duration of a load.
const mostAfterMS = int(10 * time.Minute / time.Millisecond)

func invalid(format string, args ...any) error {
	return httpapi.NewProblem(http.StatusBadRequest, "invalid", format, args...)
}

// flags returns it as flags of "loadtest fire" or, of a lab, with its strategy and faults, of "loadtest run",
// whose spans nobody receives.
func (o *Custom) flags(lab bool) string {
	var b strings.Builder
	for _, setting := range o.Settings() {
		if setting.To != &o.TraceSample || !lab {
			b.WriteString(setting.Arg())
		}
	}
	if o.Strategy != "" {
		b.WriteString(" --strategy " + o.Strategy)
	}
	return b.String() + breakFlags(o.Faults)
}

// breakFlags returns the actions as flags of "loadtest run".
func breakFlags(all []trial.Action) string {
	var b strings.Builder
	for _, a := range all {
		b.WriteString(" --break '" + a.String() + "'")
	}
	return b.String()
}
