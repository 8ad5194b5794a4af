package fire_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"orderstock/loadtest/fire"
)

// terminal returns a terminal, and its output once it is closed.
func terminal(t *testing.T) (tty *os.File, written func() string) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 160}); err != nil {
		t.Fatal(err)
	}
	var (
		text    bytes.Buffer
		reading sync.WaitGroup
	)
	reading.Go(func() { _, _ = text.ReadFrom(master) }) // ends with an error once the terminal is closed
	return tty, func() string {
		_ = tty.Close()
		reading.Wait()
		_ = master.Close()
		return text.String()
	}
}

func TestABarIsShownOnATerminal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*fire.Config)
		stop   int64 // at that order; 0: never
		want   string
	}{
		"by orders": {func(c *fire.Config) { c.Orders, c.Rate = 100, 400 }, 0, "100 %"},
		"by time":   {func(c *fire.Config) { c.Orders, c.Duration = 0, 300*time.Millisecond }, 0, "100 %"},
		"stopped":   {func(c *fire.Config) { c.Orders, c.Rate, c.Concurrency = 1000, 400, 1 }, 150, "15 %"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		tty, written := terminal(t)
		s := newShop(t)
		var seen atomic.Int64
		s.before = func(string) {
			if seen.Add(1) == c.stop {
				cancel()
			}
		}
		cfg := s.config()
		cfg.Progress = tty
		c.change(&cfg)
		h, err := fire.Run(ctx, cfg)
		cancel()
		text := written()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !strings.Contains(text, c.want) || !strings.Contains(text, "confirmed") || !strings.Contains(text, "[==") {
			t.Errorf("%s: %d orders, and on the terminal %q; want a bar, the outcomes and %q",
				name, h.Measure().Orders, text, c.want)
		}
	}
}
