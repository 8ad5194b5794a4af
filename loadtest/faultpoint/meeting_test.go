package faultpoint_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"orderstock/loadtest/faultpoint"
)

// TestMeeting: each step is a call and the time that it takes.
func TestMeeting(t *testing.T) {
	meet := func(m *faultpoint.Meeting) error { return m.Meet(context.Background()) }
	wait := func(m *faultpoint.Meeting) error { return m.Wait(context.Background()) }
	free := func(m *faultpoint.Meeting) error { m.Free(); return nil }
	const limit = 3 * time.Second
	type step struct {
		at   time.Duration // since the beginning
		do   func(*faultpoint.Meeting) error
		ends time.Duration
	}
	for name, c := range map[string]struct {
		again bool
		steps []step
	}{
		"two meet, and a third passes":  {false, []step{{0, meet, 1}, {1, meet, 1}, {2, meet, 2}}},
		"again: the next two meet, too": {true, []step{{0, meet, 1}, {1, meet, 1}, {2, meet, 9}, {9, meet, 9}}},
		"one waits for what frees it": {false, []step{
			{0, free, 0}, {1, wait, 5}, {2, wait, 2}, {5, free, 5}, {6, wait, 6},
		}},
		"who waits for nothing is the last":  {true, []step{{0, meet, limit}, {limit + 1, meet, limit + 1}}},
		"one is freed, and the next is not":  {true, []step{{0, wait, 1}, {1, free, 1}, {2, wait, limit + 2}}},
		"a caller that gives up is no proof": {true, []step{{0, abandon, 1}, {2, meet, 3}, {3, meet, 3}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, start := &faultpoint.Meeting{Again: c.again}, time.Now()
				for _, s := range c.steps {
					go func() {
						time.Sleep(s.at)
						if err := s.do(m); err != nil || time.Since(start) != s.ends {
							t.Errorf("the call at %s ends at %s, %v; want %s", s.at, time.Since(start), err, s.ends)
						}
					}()
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

// abandon waits for a meeting for 1 ns.
func abandon(m *faultpoint.Meeting) error {
	ctx, cancel := context.WithTimeout(context.Background(), 1)
	defer cancel()
	if err := m.Meet(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return errors.New("the wait does not end with its context")
	}
	return nil
}
