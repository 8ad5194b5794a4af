package tables

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/report"
	"orderstock/loadtest/trial"
)

const (
	// enough is the number of requests that must pass in a second if orders flow, of about 70 that are sent. With their
	// repeats they stay below the limit of one client.
	enough = 60
	// within is the time limit for orders to flow again after a fault.
	within = 15 * time.Second

	gone   = time.Second     // how long a killed process stays down
	frozen = 4 * time.Second // how long a process stays paused

	// least is how many orders a storm sends at least. About half of them are rejected for lack of stock.
	least = 9000
)

// Storm returns an experiment: everything breaks while orders come. First each server and replica is killed, paused,
// and stopped and started, once each, in random order, and orders must flow again after each act. Then random faults
// strike, two at a time, and orders must flow again after the last. Clients repeat an order under its key until it is
// answered.
func Storm(servers, replicas []string, random int, seed uint64) trial.Experiment {
	rng := rand.New(rand.NewPCG(seed, 0))
	var sweep []trial.Action
	for _, name := range servers {
		sweep = append(sweep, stormed("kill-server", "pause-server", "stop-and-start-server", name)...)
	}
	for _, name := range replicas {
		sweep = append(sweep, stormed("kill", "pause", "restart", name)...)
	}
	acts := make([]trial.Action, 0, len(sweep)+random+1)
	for _, i := range rng.Perm(len(sweep)) {
		acts = append(acts, sweep[i])
	}
	for left := random; left > 0; left -= 2 {
		pause := 500 + rng.IntN(1500)
		targets := rng.Perm(len(sweep) / 3)[:min(left, 2)]
		for i, target := range targets {
			a := sweep[3*target+rng.IntN(3)]
			a.AfterMS, a.Then, a.NoWait = pause, i == 0, true
			acts = append(acts, a)
		}
	}
	acts = append(acts, trial.Action{Action: trial.Nothing, Then: true, For: time.Millisecond, EndsLoad: true})
	return trial.Experiment{
		Name: "storm", Group: trial.InStorm, Acts: acts, Least: least, Settle: time.Minute, Ready: flowsAgain,
		Load: fire.Config{
			Orders: history.MaxOrders, Rate: 70, Concurrency: 30, Timeout: 20 * time.Second, Insist: 3 * time.Minute,
			Mix: fire.Mix{Goods: 20, Stock: 1000, ItemsMax: 3, NumMax: 3, Repeat: 0.05, Cancel: 0.05},
		},
		Checks: []trial.Check{flowing, answered, trial.When(trial.Judged, "slowest", saySlowest)},
	}
}

// stormed returns the three ways to break a process.
func stormed(kill, pause, restart, target string) []trial.Action {
	return []trial.Action{
		{Action: kill, Target: target, Then: true, For: gone},
		{Action: pause, Target: target, Then: true, For: frozen},
		{Action: restart, Target: target, Then: true, For: time.Millisecond},
	}
}

// flowing is that orders flow before anything is broken. Otherwise the run proves nothing.
var flowing = trial.When(trial.Intact, "flowing", func(ctx context.Context, r *trial.Run) error {
	best, err := flows(ctx, passed(r))
	if err == nil && best < enough {
		err = errors.New("no orders flow before anything is broken: " + tooSlow(best))
	}
	return err
})

// flowsAgain checks that orders flow again.
func flowsAgain(ctx context.Context, r *trial.Run) error {
	best, err := flows(ctx, passed(r))
	if err == nil && best < enough {
		r.Violate("flows-again", 1, "%s", tooSlow(best))
	}
	return err
}

func tooSlow(best int64) string {
	return fmt.Sprintf("within %v, at most %d requests a second passed, want %d", within, best, enough)
}

func passed(r *trial.Run) func() int64 { return func() int64 { return r.Live.Counts().Passed } }

// flows waits for a second from now with enough passed requests, and returns their number. If there is none within the
// limit, it returns the number of the best second.
func flows(ctx context.Context, passed func() int64) (best int64, err error) {
	const pause = 100 * time.Millisecond
	var counts []int64 // after each pause
	for began := time.Now(); time.Since(began) < within+time.Second; {
		counts = append(counts, passed())
		if first := len(counts) - 1 - int(time.Second/pause); first >= 0 {
			if best = max(best, counts[len(counts)-1]-counts[first]); best >= enough {
				return best, nil
			}
		}
		if err := trial.Sleep(ctx, pause); err != nil {
			return 0, err
		}
	}
	return best, nil
}

// answered checks that each order has an answer in the end: the client's repeats of a call that was refused or lost
// are under the same key.
var answered = trial.When(trial.Sent, "answered", func(_ context.Context, r *trial.Run) error {
	ends := map[int32]bool{}
	for _, c := range r.History.Calls {
		if c.Kind.Places() {
			ends[c.Op] = ends[c.Op] || c.Status != history.NoStatus && c.Status != history.Unheard
		}
	}
	unanswered := 0
	for _, ok := range ends {
		if !ok {
			unanswered++
		}
	}
	if unanswered > 0 {
		r.Violate("answered", unanswered, "%d of %d orders have no answer", unanswered, len(ends))
	}
	return nil
})

// saySlowest says how long it took at most until orders flowed again.
func saySlowest(_ context.Context, r *trial.Run) error {
	var slowest time.Duration
	for _, s := range r.Acts {
		slowest = max(slowest, s.Healed.Sub(s.Mended)-time.Second) // the counted second
	}
	r.Says = append(r.Says, fmt.Sprintf("%s faults, seed %d; orders flowed again after %.1f s at most",
		report.English.Sprint(len(r.Acts)-1),
		r.Seed, max(0, slowest).Seconds()))
	return nil
}
