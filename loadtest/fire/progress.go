package fire

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// showProgress shows the progress of the run until the returned function is called.
func (f *firing) showProgress(ctx context.Context) (stop func()) {
	cfg := f.cfg
	done := func() (now, total int64) {
		if cfg.Orders > 0 {
			return int64(cfg.Live.Counts().Orders), int64(cfg.Orders)
		}
		return min(time.Since(f.start), cfg.Duration).Milliseconds(), cfg.Duration.Milliseconds()
	}
	return ShowProgress(ctx, cfg.Progress, done, func() string {
		if left := f.left.Load(); left > 0 {
			return fmt.Sprintf("repeating calls without an end, %d left", left)
		}
		return cfg.Live.Counts().String()
	})
}

// ShowProgress shows on w what done and line return, until the returned function is called: as a bar if w is a
// terminal, else as a line every two seconds if it has changed. It continues when ctx ends, for the calls in flight. If
// w is nil, it shows nothing.
func ShowProgress(
	ctx context.Context, w io.Writer, done func() (now, total int64), line func() string,
) (stop func()) {
	if w == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	shown := ""
	every, show := 2*time.Second, func(now, total int64, _ bool) {
		if text := fmt.Sprintf("%3d%%  %s\n", now*100/max(total, 1), line()); text != shown {
			shown = text
			_, _ = io.WriteString(w, text) // a lost line of progress does not fail the run
		}
	}
	if f, ok := w.(*os.File); ok && isatty.IsTerminal(f.Fd()) {
		_, total := done()
		every, show = 100*time.Millisecond, newBar(f, total, line)
	}
	var showing sync.WaitGroup
	showing.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
			now, total := done()
			show(now, total, ctx.Err() != nil)
			if ctx.Err() != nil {
				return
			}
		}
	})
	return func() {
		cancel()
		showing.Wait()
	}
}

// newBar returns a function that shows a bar. Its last call, with over, leaves the bar as it is if the run was stopped
// early.
func newBar(w io.Writer, total int64, line func() string) func(now, total int64, over bool) {
	progress := mpb.New(mpb.WithOutput(w), mpb.WithAutoRefresh(), mpb.WithWidth(40))
	bar := progress.AddBar(total,
		mpb.PrependDecorators(decor.Percentage(decor.WC{W: 5})),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return line() })),
	)
	return func(now, total int64, over bool) {
		switch {
		case !over:
			bar.SetCurrent(min(now, total-1)) // the last step is the end of the run
			return
		case now >= total:
			bar.SetCurrent(total)
		default:
			bar.SetCurrent(now)
			bar.Abort(false)
		}
		progress.Wait()
	}
}
