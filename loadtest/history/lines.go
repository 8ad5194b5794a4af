package history

import (
	"bufio"
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

// block is consecutive lines of a file, of calls or of asides. Decoding takes most of the time of reading a history, so
// blocks are decoded in parallel.
type block struct {
	text    []byte // of all its lines
	ends    []int  // of each line, in text
	calls   []callLine
	asides  []asideLine
	read    error // why there is no further line
	decoded error // why the line after the last in calls or asides cannot be decoded
	ready   chan struct{}
}

var blockPool = sync.Pool{New: func() any { return new(block) }}

// blocks reads the lines of calls, then the lines of asides. The blocks arrive in the order of the file. The last block
// has an error or the last line. It stops when done is closed.
func blocks(in *bufio.Reader, calls, asides int, done <-chan struct{}) <-chan *block {
	queue := make(chan *block, 2*runtime.GOMAXPROCS(0))
	go func() {
		defer close(queue)
		for calls+asides > 0 {
			b := blockPool.Get().(*block)
			*b = block{text: b.text[:0], ends: b.ends[:0], calls: b.calls[:0], asides: b.asides[:0], ready: make(chan struct{})}
			ofCalls := calls > 0
			left := &asides
			if ofCalls {
				left = &calls
			}
			b.fill(in, *left)
			*left -= len(b.ends)
			go b.decode(ofCalls)
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
	return queue
}

// fill reads lines, n at most.
func (b *block) fill(in *bufio.Reader, n int) {
	for len(b.ends) < n && len(b.text) < blockSize && b.read == nil {
		if b.text, b.read = appendLine(b.text, in); b.read == nil {
			b.ends = append(b.ends, len(b.text))
		}
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

// decode decodes the lines, of calls or of asides, up to the first that cannot be decoded.
func (b *block) decode(ofCalls bool) {
	defer close(b.ready)
	if ofCalls {
		b.calls, b.decoded = decoded(b.calls, b.text, b.ends)
	} else {
		b.asides, b.decoded = decoded(b.asides, b.text, b.ends)
	}
}

// decoded appends the lines of a text.
func decoded[T any](lines []T, text []byte, ends []int) ([]T, error) {
	start := 0
	for _, end := range ends {
		var l T
		if err := json.Unmarshal(text[start:end], &l, strict); err != nil {
			return lines, err
		}
		lines, start = append(lines, l), end
	}
	return lines, nil
}
