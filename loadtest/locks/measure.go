package locks

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// Worker is one process of contenders. They contend for one of Names on several paths, in windows.
type Worker struct {
	Servers    []string
	Path       string // before its number
	Goroutines int
	Hold       time.Duration // how long each holds

	Lock  string
	Paths int // for which the contenders of all processes take turns
	First int // number of this process's first contender
}

// Work is the process that [Start] starts, with its last argument. It reads orders, a line each, and writes records, a
// line of JSON each, until the orders end.
func Work(ctx context.Context, worker string, orders io.Reader, to io.Writer) (err error) {
	var w Worker
	if err := json.Unmarshal([]byte(worker), &w); err != nil {
		return fmt.Errorf("read worker: %w", err)
	}
	out := json.NewEncoder(to)
	lock, err := w.connect(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.close()) }()
	contenders := make([]acquireFunc, w.Goroutines)
	for i := range contenders {
		if contenders[i], err = lock.contender(w.Path + strconv.Itoa((w.First+i)%w.Paths)); err != nil {
			return err
		}
	}
	if err := out.Encode(Record{Phase: Connected}); err != nil {
		return fmt.Errorf("write record: %w", err)
	}
	for lines := bufio.NewScanner(orders); lines.Scan(); {
		var next window
		if _, err := fmt.Sscan(lines.Text(), &next.start, &next.warmup, &next.length); err != nil {
			return fmt.Errorf("read order %q: %w", lines.Text(), err)
		}
		wakeups := lock.wakeups()
		n, err := next.run(ctx, contenders, w.Hold)
		if err != nil {
			return err
		}
		n.Wakeups = lock.wakeups() - wakeups
		if err := out.Encode(Record{Phase: Measured, Window: n}); err != nil {
			return fmt.Errorf("write record: %w", err)
		}
	}
	return nil
}

// processorTime returns how long this process has run on a processor so far, in nanoseconds.
func processorTime() int64 {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		panic(fmt.Sprintf("read the processor time: %v", err)) // it always exists
	}
	return used.Utime.Nano() + used.Stime.Nano()
}

// run lets all contenders loop until the window's end.
func (w window) run(ctx context.Context, contenders []acquireFunc, hold time.Duration) (*count, error) {
	tallies := make([]tally, len(contenders))
	for i := range tallies {
		tallies[i].waits = newHistogram()
	}
	select {
	case <-time.After(time.Until(time.UnixMilli(w.start))):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	// The processes agreed on the start by the wall clock; from here on each uses its monotonic clock.
	begin := time.Now().Add(w.warmup)
	end := begin.Add(w.length)
	used := processorTime()
	var all errgroup.Group
	for i, acquire := range contenders {
		all.Go(func() error { return tallies[i].loop(ctx, acquire, hold, begin, end) })
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	r := count{ProcessorNS: processorTime() - used}
	waits := newHistogram()
	for _, t := range tallies {
		r.Acquired += t.acquired
		waits.Merge(t.waits)
	}
	encoded, err := waits.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	r.Waits = string(encoded)
	return &r, err
}

// tally is one contender's count.
type tally struct {
	acquired int64
	waits    *hdrhistogram.Histogram
}

func (t *tally) loop(ctx context.Context, acquire acquireFunc, hold time.Duration, begin, end time.Time) error {
	for {
		start := time.Now()
		if !start.Before(end) {
			return nil
		}
		release, err := acquire(ctx)
		if err != nil {
			return fmt.Errorf("acquire: %w", err)
		}
		granted := time.Now()
		t.acquired++
		time.Sleep(hold)
		if err := release(ctx); err != nil {
			return fmt.Errorf("release: %w", err)
		}
		released := time.Now()
		if !released.Before(begin) && released.Before(end) {
			record(t.waits, granted.Sub(start))
		}
	}
}
