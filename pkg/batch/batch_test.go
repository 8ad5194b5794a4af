package batch_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"orderstock/pkg/batch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// gated is a queue whose batches each take their calls, send them on taken, and
// wait for a send on gate.
type gated struct {
	*batch.Queue[int, int]
	gate  chan struct{}
	taken chan []int
}

func newGated(t *testing.T, opts ...batch.Option) *gated {
	t.Helper()
	g := &gated{gate: make(chan struct{}), taken: make(chan []int, 100)}
	g.Queue = batch.Func(func(_ context.Context, ins []int) ([]int, error) {
		g.taken <- slices.Clone(ins)
		<-g.gate
		return ins, nil
	}, opts...)
	t.Cleanup(func() { close(g.gate); g.Close() })
	return g
}

// queue starts Do(in) and returns once the call waits in the queue, so that calls queue in a known order.
func (g *gated) queue(t *testing.T, ctx context.Context, in int) <-chan error {
	t.Helper()
	before := g.Waiting()
	done := make(chan error, 1)
	go func() {
		out, err := g.Do(ctx, in)
		if err == nil && out != in {
			err = fmt.Errorf("got %d's answer", out)
		}
		done <- err
	}()
	eventually(t, func() bool { return g.Waiting() == before+1 })
	return done
}

// occupy starts a call and returns once a batch has taken it.
func (g *gated) occupy(t *testing.T) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		_, err := g.Do(t.Context(), -1)
		done <- err
	}()
	if got := <-g.taken; !slices.Equal(got, []int{-1}) {
		t.Fatalf("the first batch holds %v", got)
	}
	return done
}

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(deadline) {
			t.Fatal("it never came to be")
		}
	}
}

func TestALoneCallGoesAtOnce(t *testing.T) {
	g := newGated(t)
	done := g.occupy(t) // returns only if the batch started with nobody else there
	g.gate <- struct{}{}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// With one processor, the worker that the first caller starts is the next goroutine to run, before
// the other callers that are ready. Only Yield lets them enqueue first.
func TestCallersReadyTogetherGoTogether(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const callers, tries = 64, 10
	for range tries { // the runtime may interrupt the test before all are ready
		n := firstBatch(t, callers)
		if n == callers {
			return
		}
		t.Logf("the first batch had %d of the %d callers that were ready", n, callers)
	}
	t.Errorf("not once in %d tries did all callers that were ready go together", tries)
}

// firstBatch has so many callers call together, and returns how many of them the first batch had.
func firstBatch(t *testing.T, callers int) int {
	t.Helper()
	sizes := make(chan int, callers)
	g := batch.Func(func(_ context.Context, ins []int) ([]int, error) {
		sizes <- len(ins)
		return ins, nil
	})
	defer g.Close()
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			if _, err := g.Do(t.Context(), i); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	return <-sizes
}

func TestCallsThatWaitGoTogetherInOrder(t *testing.T) {
	g := newGated(t, batch.WithMaxSize(3))
	first := g.occupy(t)
	var waiting []<-chan error
	for i := range 7 {
		waiting = append(waiting, g.queue(t, t.Context(), i))
	}
	for _, want := range [][]int{{0, 1, 2}, {3, 4, 5}, {6}} {
		g.gate <- struct{}{}
		if got := <-g.taken; !slices.Equal(got, want) {
			t.Fatalf("batch holds %v, want %v", got, want)
		}
	}
	g.gate <- struct{}{}
	served(t, append(waiting, first)...)
}

func TestTheQueueIsBounded(t *testing.T) {
	g := newGated(t, batch.WithMaxQueue(2))
	first := g.occupy(t)
	a, b := g.queue(t, t.Context(), 1), g.queue(t, t.Context(), 2)
	if _, err := g.Do(t.Context(), 3); !errors.Is(err, batch.ErrFull) {
		t.Fatalf("a third waiter got %v, want ErrFull", err)
	}
	g.gate <- struct{}{}
	g.gate <- struct{}{}
	served(t, first, a, b)
}

// TestFullConcurrency: further batches run once they are full, up to the bound, and end when none is full any more.
func TestFullConcurrency(t *testing.T) {
	g := newGated(t, batch.WithMaxSize(2), batch.WithFullConcurrency(3))
	waiting := []<-chan error{g.occupy(t), g.queue(t, t.Context(), 1)}
	add := func(in int) {
		answered := make(chan error, 1)
		go func() {
			_, err := g.Do(t.Context(), in)
			answered <- err
		}()
		waiting = append(waiting, answered)
	}
	for first := 2; first <= 4; first += 2 { // full batches in addition to the first one
		add(first)
		if got := <-g.taken; len(got) != 2 {
			t.Fatalf("a batch of %v runs in addition, want a full one", got)
		}
		waiting = append(waiting, g.queue(t, t.Context(), first+1))
	}
	waiting = append(waiting, g.queue(t, t.Context(), 6)) // a full batch, and three are running
	select {
	case got := <-g.taken:
		t.Fatalf("a fourth batch runs: %v", got)
	case <-time.After(20 * time.Millisecond):
	}
	for range 4 { // the last one in place of one that ended
		g.gate <- struct{}{}
	}
	if got := <-g.taken; len(got) != 2 {
		t.Errorf("the last batch holds %v", got)
	}
	served(t, waiting...)
}

func TestAWithdrawnCallIsNeverRun(t *testing.T) {
	g := newGated(t)
	first := g.occupy(t)
	ctx, cancel := context.WithCancel(t.Context())
	leaves := g.queue(t, ctx, 1)
	stays := g.queue(t, t.Context(), 2)
	cancel()
	if err := <-leaves; !errors.Is(err, batch.ErrWithdrawn) || !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want ErrWithdrawn and Canceled", err)
	}
	g.gate <- struct{}{}
	if got := <-g.taken; !slices.Equal(got, []int{2}) {
		t.Fatalf("the batch holds %v, want only the call that stayed", got)
	}
	g.gate <- struct{}{}
	served(t, first, stays)
}

func TestLeavingATakenCallIsUnknownAndDisturbsNobody(t *testing.T) {
	g := newGated(t)
	first := g.occupy(t)
	ctx, cancel := context.WithCancel(t.Context())
	leaves, stays := g.queue(t, ctx, 1), g.queue(t, t.Context(), 2)
	g.gate <- struct{}{}
	<-g.taken
	cancel()
	if err := <-leaves; errors.Is(err, batch.ErrWithdrawn) || !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want Canceled without ErrWithdrawn", err)
	}
	g.gate <- struct{}{}
	served(t, first, stays)
}

func TestCallersWhoLeaveAStuckBatchDoNotPileUp(t *testing.T) {
	g := newGated(t, batch.WithMaxQueue(10))
	first := g.occupy(t)
	stays := g.queue(t, t.Context(), 2)
	for range 1000 {
		ctx, cancel := context.WithCancel(t.Context())
		done := g.queue(t, ctx, 1)
		cancel()
		if err := <-done; !errors.Is(err, batch.ErrWithdrawn) {
			t.Fatal(err)
		}
	}
	if n := g.Waiting(); n != 1 {
		t.Fatalf("%d calls wait after all but one have left", n)
	}
	for _, done := range []<-chan error{first, stays} {
		g.gate <- struct{}{}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

// A caller that has left already is never queued: not even a full queue is looked at.
func TestACallerThatHasLeftIsRefused(t *testing.T) {
	g := newGated(t, batch.WithMaxQueue(1))
	waiting := []<-chan error{g.occupy(t), g.queue(t, t.Context(), 1)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Do(ctx, 2); !errors.Is(err, batch.ErrWithdrawn) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want ErrWithdrawn and Canceled", err)
	}
	for _, done := range waiting {
		g.gate <- struct{}{}
		check(t, <-done)
	}
}

func TestTheLateTakeGathersLaterCalls(t *testing.T) {
	started, locked := make(chan struct{}), make(chan struct{})
	sizes := make(chan int, 1)
	g := batch.New(func(_ context.Context, take func() []*batch.Call[int, int]) {
		started <- struct{}{}
		<-locked // as one waits for a lock
		calls := take()
		sizes <- len(calls)
		for _, c := range calls {
			c.Resolve(c.In*10, nil)
		}
	})
	t.Cleanup(g.Close)
	var callers sync.WaitGroup
	for i := range 5 {
		callers.Go(func() {
			if out, err := g.Do(t.Context(), i); out != i*10 || err != nil {
				t.Errorf("Do(%d) = %d, %v", i, out, err)
			}
		})
	}
	<-started
	eventually(t, func() bool { return g.Waiting() == 5 })
	close(locked)
	if n := <-sizes; n != 5 {
		t.Errorf("the batch took %d calls, want all 5", n)
	}
	callers.Wait()
}

func TestAPanicAnswersItsBatchAndTheNextGoesOn(t *testing.T) {
	g := batch.Func(func(_ context.Context, ins []int) ([]int, error) {
		if ins[0] == 13 {
			panic("thirteen")
		}
		return ins, nil
	})
	t.Cleanup(g.Close)
	if _, err := g.Do(t.Context(), 13); !errors.Is(err, batch.ErrPanic) {
		t.Fatalf("got %v, want ErrPanic", err)
	}
	if out, err := g.Do(t.Context(), 7); out != 7 || err != nil {
		t.Fatalf("after the panic: %d, %v", out, err)
	}
}

func TestAForgottenCallIsAnswered(t *testing.T) {
	for name, run := range map[string]batch.Run[int, int]{
		"taken":     func(_ context.Context, take func() []*batch.Call[int, int]) { take() },
		"not taken": func(context.Context, func() []*batch.Call[int, int]) {},
	} {
		t.Run(name, func(t *testing.T) {
			g := batch.New(run)
			t.Cleanup(g.Close)
			if _, err := g.Do(t.Context(), 1); !errors.Is(err, batch.ErrUnresolved) {
				t.Fatalf("got %v, want ErrUnresolved", err)
			}
		})
	}
}

func TestTheWrongNumberOfAnswersIsAnErrorForAll(t *testing.T) {
	g := batch.Func(func(context.Context, []int) ([]int, error) { return nil, nil })
	t.Cleanup(g.Close)
	if _, err := g.Do(t.Context(), 1); !errors.Is(err, batch.ErrUnresolved) {
		t.Fatalf("got %v, want ErrUnresolved", err)
	}
}

func TestABatchHasItsTime(t *testing.T) {
	g := batch.Func(func(ctx context.Context, _ []int) ([]int, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}, batch.WithTimeout(time.Millisecond))
	t.Cleanup(g.Close)
	if _, err := g.Do(t.Context(), 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v, want DeadlineExceeded", err)
	}
}

func TestCloseServesWhoWaitsAndRefusesTheRest(t *testing.T) {
	g := newGated(t)
	first := g.occupy(t)
	waits := g.queue(t, t.Context(), 1)
	closed := make(chan struct{})
	go func() { g.Close(); close(closed) }()
	eventually(t, func() bool {
		probe, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := g.Do(probe, 2)
		return errors.Is(err, batch.ErrClosed)
	})
	g.gate <- struct{}{}
	g.gate <- struct{}{}
	<-closed
	served(t, first, waits)
}

// Every call gets its own answer, once, under cancellations, several workers and small bounds.
func TestManyCallersEachGetTheirOwnAnswer(t *testing.T) {
	var ran [20000]atomic.Int32
	var serving, most atomic.Int32
	g := batch.Func(func(_ context.Context, ins []int) ([]string, error) {
		n := serving.Add(1)
		defer serving.Add(-1)
		for {
			if old := most.Load(); n <= old || most.CompareAndSwap(old, n) {
				break
			}
		}
		if len(ins) > 16 {
			t.Errorf("a batch of %d, bound 16", len(ins))
		}
		outs := make([]string, len(ins))
		for i, in := range ins {
			ran[in].Add(1)
			outs[i] = fmt.Sprint(in)
		}
		return outs, nil
	}, batch.WithMaxSize(16), batch.WithConcurrency(3), batch.WithFullConcurrency(6))
	var callers sync.WaitGroup
	for w := range 100 {
		callers.Go(func() {
			for i := range 200 {
				in := w*200 + i
				ctx, cancel := context.WithCancel(t.Context())
				if rand.IntN(10) == 0 {
					time.AfterFunc(time.Duration(rand.IntN(50))*time.Microsecond, cancel)
				}
				out, err := g.Do(ctx, in)
				switch {
				case err == nil && out != fmt.Sprint(in):
					t.Errorf("Do(%d) = %s", in, out)
				case errors.Is(err, batch.ErrWithdrawn) && ran[in].Load() != 0:
					t.Errorf("call %d was withdrawn and ran", in)
				case err != nil && !errors.Is(err, context.Canceled):
					t.Errorf("Do(%d): %v", in, err)
				}
				cancel()
			}
		})
	}
	callers.Wait()
	g.Close()
	for in := range ran {
		if n := ran[in].Load(); n > 1 {
			t.Errorf("call %d ran %d times", in, n)
		}
	}
	if n := most.Load(); n > 6 {
		t.Errorf("%d batches at once, bound 3, or 6 if the further ones begin full", n)
	}
}

func BenchmarkDo(b *testing.B) {
	for _, size := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("callers=%d", size), func(b *testing.B) {
			g := batch.Func(func(_ context.Context, ins []int) ([]int, error) { return ins, nil })
			defer g.Close()
			b.SetParallelism(size)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := g.Do(context.Background(), 1); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

// Idle comes after the last batch of each rush and never during a batch; a call that arrives during it is served after
// it.
func TestIdle(t *testing.T) {
	var taken, batches, idles, inside atomic.Int32
	enter := func() {
		if inside.Add(1) != 1 {
			t.Error("a batch and idle at the same time")
		}
	}
	goOn, begin := make(chan struct{}, 2), make(chan struct{})
	g := batch.Func(func(_ context.Context, ins []int) ([]int, error) {
		taken.Add(int32(len(ins)))
		<-begin
		enter()
		defer inside.Add(-1)
		batches.Add(1)
		time.Sleep(time.Millisecond)
		return ins, nil
	}, batch.WithMaxSize(2), batch.WithIdle(func(context.Context) {
		enter()
		defer inside.Add(-1)
		idles.Add(1)
		<-goOn
	}))
	var rush sync.WaitGroup
	for i := range 11 {
		rush.Go(func() {
			if _, err := g.Do(t.Context(), i); err != nil {
				t.Error(err)
			}
		})
	}
	eventually(t, func() bool { return int(taken.Load())+g.Waiting() == 11 }) // some are in the first batch
	close(begin)
	rush.Wait() // all are served before the first idle
	eventually(t, func() bool { return idles.Load() == 1 })
	if b := batches.Load(); b < 6 {
		t.Errorf("%d batches; want 6 or more", b)
	}
	late := make(chan error, 1)
	before := batches.Load()
	go func() { _, err := g.Do(t.Context(), 1); late <- err }()
	eventually(t, func() bool { return g.Waiting() == 1 })
	if batches.Load() != before {
		t.Error("served during idle")
	}
	goOn <- struct{}{}
	check(t, <-late)
	eventually(t, func() bool { return idles.Load() == 2 })
	goOn <- struct{}{}
	g.Close()
	if idles.Load() != 2 {
		t.Errorf("%d times idle; want 2", idles.Load())
	}
}

func TestErrorsOf(t *testing.T) {
	full, undone, unknown := errors.New("full"), errors.New("undone"), errors.New("unknown")
	e := batch.Errors{Full: full, Undone: undone, Unknown: unknown}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	answer := errors.New("the batch's answer")
	for _, c := range []struct {
		ctx       context.Context
		err, want error
	}{
		{t.Context(), batch.ErrFull, full},
		{t.Context(), batch.ErrClosed, undone},
		{ended, fmt.Errorf("%w: %w", batch.ErrWithdrawn, context.Canceled), undone},
		{t.Context(), batch.ErrUnresolved, unknown},
		{t.Context(), fmt.Errorf("%w: oops", batch.ErrPanic), unknown},
		{ended, context.Canceled, unknown},
	} {
		if got := e.Of(c.ctx, c.err); !errors.Is(got, c.want) || !errors.Is(got, c.err) {
			t.Errorf("%v: %v; want %v", c.err, got, c.want)
		}
	}
	for _, err := range []error{nil, answer, fmt.Errorf("%w: %w", answer, context.Canceled)} {
		if got := e.Of(ended, err); got != err { //nolint:errorlint // as it is
			t.Errorf("%v became %v", err, got)
		}
	}
}

func TestGather(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sizes []int
		g := batch.Func(func(_ context.Context, ins []int) ([]int, error) {
			sizes = append(sizes, len(ins))
			time.Sleep(8 * time.Millisecond)
			return ins, nil
		}, batch.WithGather(4))
		defer g.Close()
		began := time.Now()
		// call calls at a time since the beginning and wants the answer at another.
		call := func(at, want time.Duration) {
			time.Sleep(at - time.Since(began))
			if _, err := g.Do(t.Context(), 0); err != nil {
				t.Error(err)
			}
			if end := time.Since(began); end != want {
				t.Errorf("called at %s, answered at %s, want %s", at, end, want)
			}
		}
		together := func(want time.Duration, at ...time.Duration) {
			var all sync.WaitGroup
			for _, at := range at {
				all.Go(func() { call(at, want) })
			}
			all.Wait()
		}
		const ms = time.Millisecond
		var first sync.WaitGroup
		first.Go(func() { call(0, 8*ms) })
		together(17*ms, 1*ms, 2*ms, 3*ms, 9*ms) // three came, the first comes back: wait for all four, no longer
		first.Wait()
		together(27*ms, 18*ms, 18*ms, 18500*time.Microsecond, 19*ms) // as many again
		call(30*ms, 40*ms)                                           // fewer: wait a quarter of the 8 ms
		call(50*ms, 58*ms)                                           // after a lone call: no wait
		if want := []int{1, 4, 4, 1, 1}; !slices.Equal(sizes, want) {
			t.Errorf("batches of %v, want %v", sizes, want)
		}
	})
}

// After a batch that took long, the wait for further calls is bounded by 5 ms.
func TestGatherIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := batch.Func(func(_ context.Context, ins []int) ([]int, error) {
			time.Sleep(time.Minute)
			return ins, nil
		}, batch.WithGather(1))
		defer g.Close()
		do := func() { _, _ = g.Do(t.Context(), 0) }
		var rush sync.WaitGroup
		rush.Go(do)
		time.Sleep(time.Second)
		rush.Go(do)
		rush.Go(do)
		rush.Wait()
		began := time.Now()
		do()
		if took := time.Since(began); took != time.Minute+5*time.Millisecond {
			t.Errorf("waited %s for company that did not come, want 5ms", took-time.Minute)
		}
	})
}

// served fails the test for each call that ends with an error.
func served(t *testing.T, calls ...<-chan error) {
	t.Helper()
	for _, done := range calls {
		check(t, <-done)
	}
}

// check fails the test if err is not nil, and lets it go on.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
