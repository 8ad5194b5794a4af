package ladder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/stack"
	"orderstock/loadtest/trial"
)

// Soak is the change of each service's memory under long load.
type Soak struct {
	Minutes  float64       `json:"minutes"`
	Services []ServiceSoak `json:"services"`
	// DonePerS is sales per second over the whole time.
	DonePerS float64 `json:"done_per_s"`
	Verdict  string  `json:"verdict"`
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
	st, err := up(ctx, cfg, 1, shape{strategy, 1}, PathOrder)
	if err != nil {
		return soak, err
	}
	defer func() { err = errors.Join(err, down(ctx, cfg, st)) }()

	t := trial.On(st, fire.Config{
		Concurrency: 64, Rate: rate, Duration: length, Timeout: 30 * time.Second,
		Mix: fire.Mix{Goods: 1, Stock: plenty, ItemsMax: 1, NumMax: 1, Repeat: 0.05},
	})
	early, last := map[string]int64{}, map[string]int64{}
	t.During = func(_ context.Context, ended <-chan struct{}) {
		start, tick := time.Now(), time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ended:
				return
			}
			elapsed := time.Since(start)
			for _, s := range st.Services() {
				rss, err := residentMemory(s)
				if err != nil {
					continue // the process is gone, as the answers will show
				}
				if elapsed <= length/5 {
					early[s.Name()] = rss
				}
				last[s.Name()] = rss
			}
			if int(elapsed.Seconds())%30 == 0 {
				cfg.Progress(fmt.Sprintf("%s: %v MiB", elapsed.Round(time.Second), mebibytes(last)))
			}
		}
	}
	r, err := t.Run(ctx)
	if err != nil {
		return soak, err
	}
	for _, s := range st.Services() {
		soak.Services = append(soak.Services, ServiceSoak{
			Name: s.Name(), Early: early[s.Name()], End: last[s.Name()],
			Ratio: float64(last[s.Name()]) / float64(early[s.Name()]),
		})
	}
	soak.DonePerS, soak.Verdict = r.History.Measure().DonePerS, string(r.Verdict.Outcome)
	return soak, nil
}

func mebibytes(bytes map[string]int64) map[string]int64 {
	m := map[string]int64{}
	for name, n := range bytes {
		m[name] = n >> 20
	}
	return m
}

// residentMemory returns a process's VmRSS in bytes.
func residentMemory(s *stack.Service) (int64, error) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(s.Pid()) + "/status")
	if err != nil {
		return 0, fmt.Errorf("read the memory of %s: %w", s.Name(), err)
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("read the memory of %s: %w", s.Name(), err)
			}
			return kib << 10, nil
		}
	}
	return 0, fmt.Errorf("read the memory of %s: no VmRSS", s.Name())
}
