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
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// errInjected is the error of a step that fails on purpose.
var errInjected = errors.New("faultpoint: injected error")

var (
	mu       sync.Mutex
	rules    []*Rule
	reached  = map[string]int{}
	freed    = make(chan struct{}) // closed when others replace the rules
	firedLog = os.Getenv(LogEnv)
	// always are the rules of AlwaysEnv.
	always = parseAlways(os.Getenv(AlwaysEnv))
)

// standing is a rule of AlwaysEnv.
type standing struct {
	Rule
	Meeting
}

// parseAlways panics if the text is no list of rules: an experiment without them would prove nothing.
func parseAlways(text string) (all []*standing) {
	var rules []Rule
	if err := json.Unmarshal([]byte(cmp.Or(text, "[]")), &rules); err != nil {
		panic(fmt.Sprintf("%s: %v", AlwaysEnv, err))
	}
	for _, r := range rules {
		all = append(all, &standing{r, Meeting{Again: r.Action == Meet}})
	}
	return all
}

// stand does what always happens at the point: it lets those go who wait for somebody to pass it, and delays or holds
// this arrival.
func stand(ctx context.Context, point string, passed *Event) (err error) {
	for _, s := range always {
		if s.Other == point {
			s.Free()
		}
	}
	for _, s := range always {
		if err != nil || Point(s.Step, s.When) != point {
			continue
		}
		switch s.Action {
		case Delay:
			err = sleep(ctx, time.Duration(s.DelayMS)*time.Millisecond)
		case Meet:
			err = s.Meet(ctx)
		case Until:
			err = s.Wait(ctx)
		}
		ring.held(passed, s.Action)
	}
	return err
}

var (
	impatience = parseImpatience(cmp.Or(os.Getenv(ImpatienceEnv), "0"))
	asked      atomic.Int64 // how many waits for a lock began
)

// Impatient returns a context for the wait for a lock: every eighth ends after the time of ImpatienceEnv.
func Impatient(ctx context.Context) (context.Context, context.CancelFunc) {
	if impatience == 0 || asked.Add(1)%8 != 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, impatience)
}

// parseImpatience panics if the value is no time.
func parseImpatience(value string) time.Duration {
	delay, err := time.ParseDuration(value)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", ImpatienceEnv, err))
	}
	return delay
}

// At records the point, does what always happens there, and then performs the action armed there, if any. It returns
// the error that the step must fail with. Only the first of the values counts.
func At(ctx context.Context, step Step, when When, with ...Values) error {
	point := Point(step, when)
	passed := newEvent(ctx, step, when, with)
	if err := stand(ctx, point, passed); err != nil {
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
	// From the record of a strike that ends or stops the process, Handler gives no answer: one would say that it lives.
	if strike.Action == Kill || strike.Action == Stop {
		defer mu.Unlock()
	} else {
		mu.Unlock()
	}
	if hit == nil {
		return nil
	}
	ring.held(passed, strike.Action)
	defer ring.held(passed, strike.Action)
	switch strike.Action {
	case Kill:
		ring.save()
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

// held notes what held the process at the event until now, if something did.
func (r *events) held(e *Event, a Action) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.Action, e.Held = a, now()-e.At
}

// save writes the events to the file, if there is one.
func (r *events) save() {
	if r.file != "" {
		_ = os.WriteFile(r.file, r.json(), 0o600) // without it, the events before the kill are missing
	}
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
