package ladder

import (
	"context"
	"errors"
	"testing"
	"time"

	"orderstock/pkg/servers/serverstest"
)

func TestWhileFalling(t *testing.T) {
	unread := errors.New("not read")
	for name, test := range map[string]struct {
		pages []int64 // the readings; after the last of them, reading fails
		reads int
		err   error
	}{
		"few from the start": {[]int64{fewPages, 0}, 1, nil},
		"few in the end":     {[]int64{900, 500, fewPages, 0}, 3, nil},
		"as many as before":  {[]int64{900, 500, 500, 400}, 3, nil},
		"more than before":   {[]int64{900, 500, 600, 400}, 3, nil},
		"falling on and on":  {[]int64{900, 800, 700, 600, 500}, 4, nil},
		"not read":           {[]int64{900}, 2, unread},
	} {
		t.Run(name, func(t *testing.T) {
			reads := 0
			err := whileFalling(t.Context(), 4, time.Microsecond, func() (int64, error) {
				reads++
				if reads > len(test.pages) {
					return 0, unread
				}
				return test.pages[reads-1], nil
			})
			if reads != test.reads || !errors.Is(err, test.err) {
				t.Errorf("%d reads, %v; want %d, %v", reads, err, test.reads, test.err)
			}
		})
	}
}

func TestWhileFallingEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := whileFalling(ctx, 4, time.Hour, func() (int64, error) {
		cancel()
		return 900, nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was cancelled", err)
	}
}

func TestFlushedAsksTheServer(t *testing.T) {
	server := serverstest.MySQL(t)
	if err := flushed(t.Context(), server); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := flushed(ctx, server); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was cancelled", err)
	}
}
