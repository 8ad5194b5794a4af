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

// showProgress shows the progress of the run until the returned function is called: a bar if cfg.Progress is a
// terminal, else a line every two seconds. It continues when ctx ends, for the calls in flight.
func showProgress(ctx context.Context, cfg Config, start time.Time) (stop func()) {
	if cfg.Progress == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := func() (now, total int64) {
		if cfg.Orders > 0 {
			return cfg.Live.Counts().Orders, int64(cfg.Orders)
		}
		return min(time.Since(start), cfg.Duration).Milliseconds(), cfg.Duration.Milliseconds()
	}
	line := func() string { return cfg.Live.Counts().String() }
	var showing sync.WaitGroup
	if f, ok := cfg.Progress.(*os.File); ok && isatty.IsTerminal(f.Fd()) {
		showing.Go(func() { showBar(ctx, f, done, line) })
	} else {
		showing.Go(func() { showLines(ctx, cfg.Progress, done, line) })
	}
	return func() {
		cancel()
		showing.Wait()
	}
}

func showBar(ctx context.Context, w io.Writer, done func() (now, total int64), line func() string) {
	_, total := done()
	progress := mpb.New(mpb.WithOutput(w), mpb.WithAutoRefresh(), mpb.WithWidth(40))
	bar := progress.AddBar(total,
		mpb.PrependDecorators(decor.Percentage(decor.WC{W: 5})),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return line() })),
	)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		now, _ := done()
		bar.SetCurrent(min(now, total-1)) // the last step is the end of the run
		select {
		case <-tick.C:
		case <-ctx.Done():
			if now, _ := done(); now >= total {
				bar.SetCurrent(total)
			} else {
				bar.Abort(false) // stopped early: leave the bar as it is
			}
			progress.Wait()
			return
		}
	}
}

func showLines(ctx context.Context, w io.Writer, done func() (now, total int64), line func() string) {
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
		now, total := done()
		_, _ = fmt.Fprintf(w, "%3d%%  %s\n", now*100/max(total, 1), line()) // a lost line of progress does not fail the run
		if ctx.Err() != nil {
			return
		}
	}
}
