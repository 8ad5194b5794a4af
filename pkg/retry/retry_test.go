package retry_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"orderstock/pkg/retry"
)

var errSick = errors.New("sick")

// tries calls Do with an operation that fails so, and returns when each try began.
func tries(ctx context.Context, p retry.Policy, fail func(n int) error) (began []time.Duration, err error) {
	start := time.Now()
	err = retry.Run(ctx, p, func() error {
		began = append(began, time.Since(start))
		return fail(len(began))
	})
	return began, err
}

func TestPausesDoubleUpToTheMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := retry.Policy{First: 100 * time.Millisecond, Max: 400 * time.Millisecond, Tries: 6}
		began, err := tries(t.Context(), p, func(int) error { return errSick })
		if !errors.Is(err, errSick) || len(began) != 6 {
			t.Fatalf("%d tries, %v", len(began), err)
		}
		for i, want := range []time.Duration{100, 200, 400, 400, 400} {
			want *= time.Millisecond
			if pause := began[i+1] - began[i]; pause < want/2 || pause > want*3/2+time.Millisecond {
				t.Errorf("pause %d is %s, want %s and half of it up or down", i+1, pause, want)
			}
		}
	})
}

// Most calls succeed at once: they pay for no pauses.
func TestASuccessAllocatesNothing(t *testing.T) {
	ctx, p := t.Context(), retry.Policy{First: time.Second, Max: time.Minute, Tries: 3, InTime: true}
	if n := testing.AllocsPerRun(100, func() {
		if answer, err := retry.Do(ctx, p, func() (int, error) { return 1, nil }); answer != 1 || err != nil {
			t.Error(answer, err)
		}
	}); n > 0 {
		t.Errorf("a success takes %v allocations", n)
	}
}

func TestItEnds(t *testing.T) {
	forever := retry.Policy{First: time.Second, Max: time.Second}
	for name, c := range map[string]struct {
		policy retry.Policy
		fail   func(n int) error
		limit  time.Duration
		tries  int
		err    error
		within time.Duration
	}{
		"by success": {forever, func(n int) error {
			if n < 3 {
				return errSick
			}
			return nil
		}, time.Hour, 3, nil, 4 * time.Second},
		"by Stop": {forever, func(int) error { return retry.Stop(errSick) }, time.Hour, 1, errSick, 0},
		"by the context": {
			forever, func(int) error { return errSick },
			100 * time.Millisecond, 1, context.DeadlineExceeded, 100 * time.Millisecond,
		},
		"in time": {
			retry.Policy{First: time.Second, Max: time.Second, InTime: true},
			func(int) error { return errSick }, 400 * time.Millisecond, 1, errSick, 0,
		},
		"later than it asked": {
			retry.Policy{First: 1, Max: 1, InTime: true},
			func(int) error { return retry.After(errSick, time.Minute) }, time.Second, 1, errSick, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), c.limit)
				defer cancel()
				start := time.Now()
				began, err := tries(ctx, c.policy, c.fail)
				if !errors.Is(err, c.err) || len(began) != c.tries || time.Since(start) > c.within {
					t.Errorf("%d tries in %s: %v; want %d within %s: %v", len(began), time.Since(start), err, c.tries, c.within, c.err)
				}
			})
		})
	}
	if retry.Stop(nil) != nil {
		t.Error("Stop(nil) is an error")
	}
}

// An error that says only that time is up helps nobody: it says why the last try failed, too. The context's error alone
// decides what callers do about it.
func TestTheEndOfTheContextKeepsTheLastFailure(t *testing.T) {
	for name, c := range map[string]struct {
		fail func(ctx context.Context, n int) error
		want string
	}{
		"in a pause": {func(context.Context, int) error { return errSick }, "context deadline exceeded (last failure: sick)"},
		"in a try": {func(ctx context.Context, n int) error {
			if n == 1 {
				return errSick
			}
			<-ctx.Done()
			return ctx.Err()
		}, "context deadline exceeded (last failure: sick)"},
		"in the first try": {func(ctx context.Context, _ int) error {
			<-ctx.Done()
			return fmt.Errorf("read ledger: %w", ctx.Err())
		}, "context deadline exceeded (last failure: read ledger: context deadline exceeded)"},
		"without a reason": {func(ctx context.Context, _ int) error {
			<-ctx.Done()
			return ctx.Err()
		}, "context deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err := tries(ctx, retry.Policy{First: 700 * time.Millisecond, Max: time.Second},
					func(n int) error { return c.fail(ctx, n) })
				if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errSick) || err.Error() != c.want {
					t.Errorf("got %v, want %s", err, c.want)
				}
			})
		})
	}
}

func TestAfterSetsThePause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, err := tries(t.Context(), retry.Policy{First: 1, Max: 1, Tries: 2},
			func(int) error { return retry.After(errSick, time.Minute) })
		if pause := began[1] - began[0]; pause < time.Minute || pause > 90*time.Second {
			t.Errorf("pause %s, want a minute and up to half of it more", pause)
		}
		if !errors.Is(err, errSick) || err.Error() != errSick.Error() {
			t.Errorf("error %q", err)
		}
	})
}
