//go:build faults

package faultpoint

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// errInjected is the error of a step that fails on purpose.
var errInjected = errors.New("faultpoint: injected error")

var (
	mu      sync.Mutex
	rules   []*Rule
	reached = map[string]int{}
	freed   = make(chan struct{}) // closed when others replace the rules
	// firedLog survives a kill: a line for each fault, written before it strikes.
	firedLog = os.Getenv("FAULTPOINT_LOG")
	// slowed are the delays of points that the process has from its start on, whatever is armed.
	slowed = parseSlow(os.Getenv(SlowEnv))
	// holds are the points that hold arrivals, also from the start on.
	holds = parseHolds(os.Getenv(HoldEnv))
)

// held is a point that holds arrivals until another one, or itself, is passed.
type held struct {
	Meeting
	until string
}

func parseHolds(list string) map[string]*held {
	points := map[string]*held{}
	for entry := range strings.SplitSeq(list, ",") {
		if entry == "" {
			continue
		}
		point, until, other := strings.Cut(entry, "=")
		if !other {
			until = point
		}
		points[point] = &held{Meeting{Again: !other}, until}
	}
	return points
}

// hold lets those go who wait until somebody passes the point, or holds this arrival.
func hold(ctx context.Context, point string) error {
	own := holds[point]
	for _, h := range holds {
		if h.until == point && h != own {
			h.Free()
		}
	}
	switch {
	case own == nil:
		return nil
	case own.until == point:
		return own.Meet(ctx)
	}
	return own.Wait(ctx)
}

var (
	impatience = parseDelay(ImpatienceEnv, cmp.Or(os.Getenv(ImpatienceEnv), "0"))
	asked      atomic.Int64 // how many waits for a lock began
)

// Impatient returns a context for the wait for a lock: every eighth ends after the time of ImpatienceEnv.
func Impatient(ctx context.Context) (context.Context, context.CancelFunc) {
	if impatience == 0 || asked.Add(1)%8 != 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, impatience)
}

// parseDelay panics if the value is no time: an experiment without its delays would prove nothing.
func parseDelay(name, value string) time.Duration {
	delay, err := time.ParseDuration(value)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", name, err))
	}
	return delay
}

func parseSlow(list string) map[string]time.Duration {
	delays := map[string]time.Duration{}
	for entry := range strings.SplitSeq(list, ",") {
		if entry == "" {
			continue
		}
		point, value, _ := strings.Cut(entry, "=")
		delays[point] = parseDelay(SlowEnv, value)
	}
	return delays
}

// At waits as SlowEnv and HoldEnv want it at the point, and then performs the action armed there, if any. It returns
// the error that the step must fail with.
func At(ctx context.Context, step Step, when When) error {
	point := pointOf(step, when)
	if err := sleep(ctx, slowed[point]); err != nil {
		return err
	}
	if err := hold(ctx, point); err != nil {
		return err
	}
	mu.Lock()
	reached[point]++
	var hit *Rule
	for _, r := range rules {
		if r.Step != step || r.When != when {
			continue
		}
		r.Reached++
		if r.Reached > r.Skip && r.Fired < max(1, r.Times) {
			r.Fired++
			hit = r
			record(r)
			break
		}
	}
	var strike Rule
	replaced := freed
	if hit != nil {
		strike = *hit
	}
	mu.Unlock()
	switch strike.Action {
	case Kill:
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way
	case Stop:
		freeze()
	case Error:
		return fmt.Errorf("%w at %s/%s", errInjected, when, step)
	case Delay:
		if strike.Outlast {
			outlast(ctx)
			return nil
		}
		return sleep(ctx, time.Duration(strike.DelayMS)*time.Millisecond)
	case Hold:
		return holdUntil(ctx, replaced, time.Duration(strike.DelayMS)*time.Millisecond)
	case Call:
		return call(ctx, strike.URL)
	}
	return nil
}

// outlast returns shortly after ctx has ended: a deadline that came with a call is a little earlier than the caller's.
func outlast(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, outlastWithin)
	defer cancel()
	<-ctx.Done()
	time.Sleep(100 * time.Millisecond)
}

// outlastWithin is longer than any caller waits.
const outlastWithin = 20 * time.Second

func sleep(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	return holdUntil(ctx, nil, d)
}

// holdUntil waits until freed is closed, for at most d.
func holdUntil(ctx context.Context, freed <-chan struct{}, d time.Duration) error {
	select {
	case <-freed:
		return nil
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// call notifies the harness that the point is reached and waits for its reply. The step's own deadline does not end it:
// a harness half way through cutting a wire is worse than a late step.
func call(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return fmt.Errorf("faultpoint: call %s: %w", url, err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("faultpoint: call %s: %w", url, err)
	}
	return resp.Body.Close()
}

// record appends the fault to the harness's log, before the fault can kill the process. If the log cannot be written,
// the harness reports a fault that never fired.
func record(r *Rule) {
	if firedLog == "" {
		return
	}
	f, err := os.OpenFile(firedLog, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return
	}
	fmt.Fprintf(f, "%s %s %s\n", r.Step, r.When, r.Action)
	_ = f.Close()
}

// replace arms other rules, and lets the steps go on that the present ones hold.
func replace(next []*Rule) {
	close(freed)
	rules, freed = next, make(chan struct{})
}

// Handler controls this process's points: PUT a JSON list of rules to replace the armed ones, GET to read them with
// their counts, DELETE to disarm all.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch r.Method {
		case http.MethodPut:
			var next []*Rule
			if err := json.NewDecoder(r.Body).Decode(&next); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			replace(next)
		case http.MethodDelete:
			replace(nil)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"rules": rules, "reached": reached})
	})
}
