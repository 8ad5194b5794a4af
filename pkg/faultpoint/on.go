//go:build faults

package faultpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Enabled reports whether this build can be broken on purpose.
const Enabled = true

// ErrInjected is the error that a step fails with on purpose.
var ErrInjected = errors.New("faultpoint: injected error")

// Action is what happens when an armed point is reached.
type Action string

// The actions.
const (
	Kill  Action = "kill"  // SIGKILL from inside: no deferred call runs
	Stop  Action = "stop"  // SIGSTOP: the process sleeps until somebody continues it
	Error Action = "error" // the step fails (before) or its reply is lost (after)
	Delay Action = "delay" // the step takes DelayMS longer
)

// Rule arms one point.
type Rule struct {
	Step   Step   `json:"step"`
	When   When   `json:"when"`
	Action Action `json:"action"`
	// Skip passes that many arrivals before the first that fires.
	Skip int `json:"skip"`
	// Times bounds how often it fires; 0 means once.
	Times   int `json:"times"`
	DelayMS int `json:"delay_ms"`

	// Fired counts how often it did; an answer, not a setting.
	Fired int `json:"fired"`
	// Reached counts the arrivals.
	Reached int `json:"reached"`
}

var (
	mu      sync.Mutex
	rules   []*Rule
	reached = map[string]int{}
	mutants = readMutants()
	// firedLog outlives a kill: a line for each fault, appended and synced before it strikes.
	firedLog = os.Getenv("FAULTPOINT_LOG")
)

func readMutants() map[string]bool {
	m := map[string]bool{}
	for name := range strings.SplitSeq(os.Getenv("MUTANT"), ",") {
		if name != "" {
			m[name] = true
		}
	}
	return m
}

// Mutant reports whether the process runs as the broken variant of that name:
// one of the comma-separated names of the environment variable MUTANT.
func Mutant(name string) bool { return mutants[name] }

// At is where a fault can strike; it returns the error to fail the step with.
func At(ctx context.Context, step Step, when When) error {
	mu.Lock()
	reached[string(step)+"/"+string(when)]++
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
	var action Action
	var delay time.Duration
	if hit != nil {
		action, delay = hit.Action, time.Duration(hit.DelayMS)*time.Millisecond
	}
	mu.Unlock()
	switch action {
	case Kill:
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way
	case Stop:
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	case Error:
		return fmt.Errorf("%w at %s/%s", ErrInjected, when, step)
	case Delay:
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// record appends the fault to the log that the harness counts; it must be on
// file before the process dies of it.
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

// Handler is the control of this process's points: PUT a JSON list of rules to
// arm them in place of those before, GET to read them back with their counts,
// DELETE to disarm all.
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
			rules = next
		case http.MethodDelete:
			rules = nil
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"rules": rules, "reached": reached})
	})
}
