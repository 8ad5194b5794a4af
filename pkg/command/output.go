package command

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"syscall"

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
