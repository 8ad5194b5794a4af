package locks

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// ready is the line that a worker prints when it is connected.
const ready = "READY"

// job is a worker's share of the contenders.
type job struct {
	lock    string
	servers string
	prefix  string // of the paths
	paths   int
	first   int // number of its first contender
	threads int
	hold    time.Duration
}

// Work is one process of contenders. Config.Worker runs it, with the arguments from Run. It reads orders for windows
// and answers them, until the orders end.
func Work(ctx context.Context, args []string, orders io.Reader, answers io.Writer) error {
	if len(args) != 6 && len(args) != 7 {
		return fmt.Errorf("a worker has the arguments lock, servers, path prefix, paths, first contender, contenders "+
			"and perhaps the time of holding: got %q", args)
	}
	j := job{lock: args[0], servers: args[1], prefix: args[2]}
	for i, to := range []*int{&j.paths, &j.first, &j.threads} {
		n, err := strconv.Atoi(args[3+i])
		if err != nil {
			return err
		}
		*to = n
	}
	if len(args) == 7 {
		var err error
		if j.hold, err = time.ParseDuration(args[6]); err != nil {
			return err
		}
	}
	return j.work(ctx, orders, answers)
}

func (j job) work(ctx context.Context, orders io.Reader, answers io.Writer) (err error) {
	lock, err := j.connect(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.close()) }()
	contenders := make([]acquireFunc, j.threads)
	for i := range contenders {
		if contenders[i], err = lock.contender(j.prefix + strconv.Itoa((j.first+i)%j.paths)); err != nil {
			return err
		}
	}
	fmt.Fprintln(answers, ready)
	for lines := bufio.NewScanner(orders); lines.Scan(); {
		var start, warmup, length int64
		if _, err := fmt.Sscan(lines.Text(), &start, &warmup, &length); err != nil {
			return fmt.Errorf("read order %q: %w", lines.Text(), err)
		}
		w := window{
			start:  time.UnixMilli(start),
			warmup: time.Duration(warmup) * time.Millisecond,
			length: time.Duration(length) * time.Millisecond,
		}
		before := lock.wakeups()
		r, err := w.run(ctx, contenders, j.hold)
		if err != nil {
			return err
		}
		r.Wakeups = lock.wakeups() - before
		if err := json.NewEncoder(answers).Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// run lets all contenders loop until the window's end.
func (w window) run(ctx context.Context, contenders []acquireFunc, hold time.Duration) (result, error) {
	select {
	case <-time.After(time.Until(w.start)):
	case <-ctx.Done():
		return result{}, context.Cause(ctx)
	}
	// The processes agreed on the start by the wall clock; from here on each uses its monotonic clock.
	begin := time.Now().Add(w.warmup)
	end := begin.Add(w.length)
	var (
		tallies = make([]tally, len(contenders))
		errs    = make([]error, len(contenders))
		all     sync.WaitGroup
	)
	for i, acquire := range contenders {
		all.Go(func() { errs[i] = tallies[i].loop(ctx, acquire, hold, begin, end) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return result{}, err
	}
	var r result
	waits := newHistogram()
	for _, t := range tallies {
		r.Ops += t.ops
		r.Acquired += t.acquired
		waits.Merge(t.waits)
	}
	encoded, err := waits.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	r.Waits = string(encoded)
	return r, err
}

// tally is one contender's count.
type tally struct {
	ops, acquired int64
	waits         *hdrhistogram.Histogram
}

func (t *tally) loop(ctx context.Context, acquire acquireFunc, hold time.Duration, begin, end time.Time) error {
	t.waits = newHistogram()
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
		if released.Before(begin) || !released.Before(end) {
			continue
		}
		t.ops++
		if err := record(t.waits, granted.Sub(start)); err != nil {
			return err
		}
	}
}
