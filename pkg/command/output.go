package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mattn/go-isatty"
)

// Output returns a writer to file for a program that does more than print. If the reader ends first, as "head" does,
// the rest is dropped without an error, and the program goes on: from the first call on, no write to a closed pipe ends
// it. For a terminal, Output returns the file itself.
func Output(file *os.File) io.Writer {
	if isatty.IsTerminal(file.Fd()) {
		return file
	}
	notEndedByPipes()
	return &output{file: file}
}

type output struct {
	file   *os.File
	closed atomic.Bool
}

func (o *output) Write(p []byte) (int, error) {
	if o.closed.Load() {
		return len(p), nil
	}
	n, err := o.file.Write(p)
	if errors.Is(err, syscall.EPIPE) {
		o.closed.Store(true)
		return len(p), nil
	}
	return n, err
}

// maxUnwritten bounds the log's unwritten bytes.
const maxUnwritten = 1 << 20

// lastWords bounds the wait for the log at the end of a program.
const lastWords = time.Second

// Stderr returns the log of this process, on its standard error.
var Stderr = sync.OnceValue(func() *LogWriter { return Log(os.Stderr) })

// Log returns a writer of log lines to file that never waits: a reader that stands still must not stop the service. If
// a megabyte waits to be written, it drops further lines, and logs their number once there is room. A closed pipe drops
// all lines and ends no program. Write never fails.
func Log(file *os.File) *LogWriter {
	notEndedByPipes()
	l := &LogWriter{file: file}
	l.written.L = &l.mu
	return l
}

// LogWriter writes lines in the background. Its methods are safe for concurrent use.
type LogWriter struct {
	file *os.File

	mu      sync.Mutex
	written sync.Cond // broadcast when writing turns false
	waiting bytes.Buffer
	writing bool
	dropped int64 // in all
	logged  int64 // of them, reported in the log
}

// Write takes a whole line, or drops it.
func (l *LogWriter) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting.Len()+len(line) > maxUnwritten {
		l.dropped++
		return len(line), nil
	}
	l.waiting.Write(line)
	if !l.writing {
		l.writing = true
		go l.write()
	}
	return len(line), nil
}

// write writes until nothing waits.
func (l *LogWriter) write() {
	for lines := l.next(nil); lines != nil; lines = l.next(lines) {
		_, _ = l.file.Write(lines) // nobody could read of its failure
	}
}

// next returns the waiting lines, or nil. The buffer of the lines written before becomes the one that fills.
func (l *LogWriter) next(before []byte) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := l.dropped - l.logged; n > 0 {
		l.logged = l.dropped
		slog.New(slog.NewJSONHandler(&l.waiting, nil)).Warn("log lines dropped: nothing read the log", "lines", n)
	}
	if l.waiting.Len() == 0 {
		l.writing = false
		l.written.Broadcast()
		return nil
	}
	lines := l.waiting.Bytes()
	l.waiting = *bytes.NewBuffer(before[:0])
	return lines
}

// Dropped returns the number of lines dropped so far.
func (l *LogWriter) Dropped() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dropped
}

// Flush waits until all lines are written, for at most the given time.
func (l *LogWriter) Flush(atMost time.Duration) {
	late := false
	defer time.AfterFunc(atMost, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		late = true
		l.written.Broadcast()
	}).Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.writing && !late {
		l.written.Wait()
	}
}

// notEndedByPipes makes a write to a closed standard output or error an error, where it would end the program. Not
// signal.Ignore, which processes that this one starts would inherit.
var notEndedByPipes = sync.OnceFunc(func() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) })

// Progress returns a function that prints a step of the work to w, with the seconds since Progress was called.
func Progress(w io.Writer) func(doing string) {
	begin := time.Now()
	return func(doing string) { fmt.Fprintf(w, "%6.1fs  %s\n", time.Since(begin).Seconds(), doing) }
}
