package locks

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// startGrace is the time for the start of a window to reach all workers.
	startGrace = 50 * time.Millisecond
	// drainLimit bounds the time of contenders still waiting at a window's end.
	drainLimit = 60 * time.Second
	closeLimit = 10 * time.Second
	// longestAnswer bounds a line of a worker: Java lists each wait.
	longestAnswer = 64 << 20
)

// fleet is the worker processes of one lock.
type fleet struct{ workers []*worker }

// worker is one process. It reads "start-ms warmup-ms window-ms" for each window and answers with a
// result in JSON; it ends when its standard input does.
type worker struct {
	cmd    *exec.Cmd
	orders io.WriteCloser
	lines  *bufio.Scanner
}

func (b *bench) startFleet(ctx context.Context, lock string, s shape, root string) (_ *fleet, err error) {
	f := &fleet{}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.close())
		}
	}()
	for p := range s.processes {
		first, threads := s.share(p)
		args := []string{
			b.Servers, path.Join(root, "path-"), strconv.Itoa(s.paths), strconv.Itoa(first), strconv.Itoa(threads),
		}
		if s.lone() {
			args = append(args, s.hold.String())
		}
		cmd, err := b.command(ctx, lock, args)
		if err != nil {
			return nil, err
		}
		w, err := startWorker(cmd)
		if err != nil {
			return nil, err
		}
		f.workers = append(f.workers, w)
	}
	for _, w := range f.workers {
		line, err := w.read(ctx, drainLimit)
		if err != nil {
			return nil, err
		}
		if line != ready {
			return nil, fmt.Errorf("a worker said %q instead of %s", line, ready)
		}
	}
	return f, nil
}

func (b *bench) command(ctx context.Context, lock string, args []string) (*exec.Cmd, error) {
	if lock == curatorLock {
		if b.classes == "" {
			classes, err := compileCurator(ctx, b.dir)
			if err != nil {
				return nil, err
			}
			b.classes = classes
		}
		return curatorCommand(ctx, b.classes, args), nil
	}
	line := slices.Concat(b.Worker, []string{lock}, args)
	return exec.CommandContext(ctx, line[0], line[1:]...), nil
}

func startWorker(cmd *exec.Cmd) (*worker, error) {
	orders, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	answers, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(answers)
	lines.Buffer(nil, longestAnswer)
	return &worker{cmd, orders, lines}, nil
}

// run runs one window on all workers together; results are by process.
func (f *fleet) run(ctx context.Context, w window) ([]result, error) {
	w.start = time.Now().Add(startGrace)
	for _, worker := range f.workers {
		_, err := fmt.Fprintf(worker.orders, "%d %d %d\n", w.start.UnixMilli(), w.warmup.Milliseconds(),
			w.length.Milliseconds())
		if err != nil {
			return nil, fmt.Errorf("order a window: %w", err)
		}
	}
	results := make([]result, len(f.workers))
	for i, worker := range f.workers {
		line, err := worker.read(ctx, startGrace+w.warmup+w.length+drainLimit)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal([]byte(line), &results[i]); err != nil {
			return nil, fmt.Errorf("read a worker's result %.80q: %w", line, err)
		}
	}
	return results, nil
}

// read returns the worker's next line. A worker that does not answer in time is killed.
func (w *worker) read(ctx context.Context, limit time.Duration) (string, error) {
	timer := time.AfterFunc(limit, func() { _ = w.cmd.Process.Kill() })
	defer timer.Stop()
	if w.lines.Scan() {
		return strings.TrimSpace(w.lines.Text()), nil
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	return "", fmt.Errorf("a worker ended without an answer: %w", errors.Join(w.lines.Err(), w.cmd.Wait()))
}

func (f *fleet) close() error {
	var errs []error
	for _, w := range f.workers {
		errs = append(errs, w.orders.Close())
	}
	for _, w := range f.workers {
		timer := time.AfterFunc(closeLimit, func() { _ = w.cmd.Process.Kill() })
		if w.cmd.ProcessState == nil {
			errs = append(errs, w.cmd.Wait())
		}
		timer.Stop()
	}
	return errors.Join(errs...)
}
