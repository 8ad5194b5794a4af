package ladder

import (
	"context"
	"errors"
	"fmt"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
	"orderstock/pkg/command"
)

// Soak is the change of each service's memory under long load.
type Soak struct {
	Minutes  float64       `json:"minutes"`
	Services []ServiceSoak `json:"services"`
	// DonePerS is sales per second over the whole time.
	DonePerS float64        `json:"done_per_s"`
	Verdict  verify.Outcome `json:"verdict"`
}

// ServiceSoak is one service's resident memory, in bytes, after a fifth of the time and at its end.
type ServiceSoak struct {
	Name  string  `json:"name"`
	Early int64   `json:"early_rss"`
	End   int64   `json:"end_rss"`
	Ratio float64 `json:"ratio"`
}

// MeasureSoak fires whole orders on one hot product for length, rate of them each
// second, and compares each service's resident memory after a fifth of that time
// with its memory at the end.
func MeasureSoak(ctx context.Context, cfg Config, strategy string, length time.Duration, rate float64) (_ Soak,
	err error,
) {
	soak := Soak{Minutes: length.Minutes()}
	c, err := open(ctx, cfg, variant{shape: shape{strategy, 1}}, PathOrder)
	if err != nil {
		return soak, err
	}
	defer func() { err = errors.Join(err, c.close(ctx)) }()

	t := trial.On(c.system, fire.Config{
		Concurrency: 64, Rate: rate, Duration: length, Timeout: 30 * time.Second,
		Mix: fire.Mix{Goods: 1, Stock: plenty, ItemsMax: 1, NumMax: 1, Repeat: 0.05, Seed: cfg.Seed},
	})
	for _, s := range c.stack.Services() {
		soak.Services = append(soak.Services, ServiceSoak{Name: s.Name()})
	}
	t.During = func(ctx context.Context, ended <-chan struct{}) {
		start, tick := time.Now(), time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ended:
				return
			}
			elapsed, now := time.Since(start), ""
			for i, s := range c.stack.Services() {
				metrics, err := s.Metrics(ctx)
				if err != nil {
					continue // the process is gone, as the answers will show
				}
				memory := &soak.Services[i]
				memory.End = int64(metrics["process_resident_memory_bytes"])
				if elapsed <= length/5 {
					memory.Early = memory.End
				}
				now += fmt.Sprintf(" %s %d MiB", s.Name(), memory.End>>20)
			}
			if int(elapsed.Seconds())%30 == 0 {
				cfg.say("%s:%s", elapsed.Round(time.Second), now)
			}
		}
	}
	r, err := t.Run(ctx)
	if err != nil {
		return soak, err
	}
	for i := range soak.Services {
		soak.Services[i].Ratio = float64(soak.Services[i].End) / float64(soak.Services[i].Early)
	}
	soak.DonePerS, soak.Verdict = r.History.Measure().DonePerS, r.Verdict.Outcome
	return soak, nil
}

func (s ServiceSoak) missed() bool { return s.Ratio < 0.9 || s.Ratio > 1.1 }

// Judge judges as Result.Judge does; the target is that no service's memory changed by more than a tenth.
func (s Soak) Judge(targets bool) error {
	err := passed(s.Verdict)
	for _, service := range s.Services {
		if targets && service.missed() {
			err = errors.Join(command.Fail(fmt.Errorf("missed: memory of %s: ratio %.2f", service.Name, service.Ratio)), err)
		}
	}
	return err
}
