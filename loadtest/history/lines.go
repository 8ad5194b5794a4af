package history

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/go-json-experiment/json"
)

// strict rejects names that no run writes, names in other case, and duplicate names.
var strict = json.RejectUnknownMembers(true)

// blockSize is how many bytes of lines one goroutine decodes, and a line more.
const blockSize = 64 << 10

// block is consecutive lines of a file. Decoding takes most of the time of reading a history, so blocks are decoded in
// parallel.
type block[T any] struct {
	text    []byte // of all its lines
	ends    []int  // of each line, in text
	lines   []T
	read    error // why there is no further line
	decoded error // why the line after the last in lines cannot be decoded
	ready   chan struct{}
}

// lines reads n lines and takes each, in the order of the file.
func lines[T any](r *reading, n int, take func(*T) error) error {
	queue, done := make(chan *block[T], 2*runtime.GOMAXPROCS(0)), make(chan struct{})
	defer close(done)
	pool := sync.Pool{New: func() any { return new(block[T]) }}
	go func() {
		defer close(queue)
		for n > 0 {
			b := pool.Get().(*block[T])
			*b = block[T]{text: b.text[:0], ends: b.ends[:0], lines: b.lines[:0], ready: make(chan struct{})}
			b.fill(r.in, n)
			n -= len(b.ends)
			go b.decode()
			select {
			case queue <- b:
			case <-done:
				return
			}
			if b.read != nil {
				return
			}
		}
	}()
	for b := range queue {
		<-b.ready
		for i := range b.lines {
			r.number++
			if err := take(&b.lines[i]); err != nil {
				return err
			}
		}
		if err := cmp.Or(b.decoded, b.read); err != nil {
			r.number++
			return err
		}
		pool.Put(b)
	}
	return nil
}

// fill reads lines, n at most.
func (b *block[T]) fill(in *bufio.Reader, n int) {
	for len(b.ends) < n && len(b.text) < blockSize && b.read == nil {
		if b.text, b.read = appendLine(b.text, in); b.read == nil {
			b.ends = append(b.ends, len(b.text))
		}
	}
}

// decode decodes the lines, up to the first that cannot be decoded.
func (b *block[T]) decode() {
	defer close(b.ready)
	start := 0
	for _, end := range b.ends {
		var l T
		if b.decoded = json.Unmarshal(b.text[start:end], &l, strict); b.decoded != nil {
			return
		}
		b.lines, start = append(b.lines, l), end
	}
}

// appendLine appends the next line, which must end.
func appendLine(text []byte, in *bufio.Reader) ([]byte, error) {
	for {
		part, err := in.ReadSlice('\n')
		text = append(text, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return text, fmt.Errorf("the file is cut: %w", io.ErrUnexpectedEOF)
		default:
			return text, err
		}
	}
}
