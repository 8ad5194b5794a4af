package locks

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"orderstock/pkg/servers"
)

// longestRecord bounds a line of a process, in bytes: Java lists each wait.
const longestRecord = 64 << 20

// finishLimit bounds the last acquisitions of contenders that are asked to stop.
const finishLimit = 40 * time.Second

// Process is a process of contenders and their records so far. It is safe for concurrent use.
type Process struct {
	cmd    *exec.Cmd
	orders io.WriteCloser
	stderr strings.Builder // to be read when ended
	ended  chan struct{}

	mu      sync.Mutex
	records []Record
	grown   chan struct{} // closed at the next record
}

// Start starts a process of contenders by the command line, with the worker in JSON behind it. The program must pass a
// [Worker] to [Work]. The process is killed when ctx ends and, on Linux, when this process ends in any way.
func Start(ctx context.Context, line []string, worker any) (*Process, error) {
	text, err := json.Marshal(worker)
	if err != nil {
		return nil, err
	}
	return start(exec.CommandContext(ctx, line[0], append(line[1:len(line):len(line)], string(text))...))
}

func start(cmd *exec.Cmd) (*Process, error) {
	p := &Process{cmd: cmd, ended: make(chan struct{}), grown: make(chan struct{})}
	cmd.Stderr = &p.stderr
	orders, failed := cmd.StdinPipe()
	records, err := cmd.StdoutPipe()
	if err = errors.Join(failed, err); err == nil {
		err = servers.StartChild(cmd)
	}
	if err != nil {
		return nil, fmt.Errorf("start a process of contenders: %w", err)
	}
	p.orders = orders
	go p.read(records)
	return p, nil
}

func (p *Process) read(records io.Reader) {
	defer close(p.ended)
	lines := bufio.NewScanner(records)
	lines.Buffer(nil, longestRecord)
	for lines.Scan() {
		var r Record
		if json.Unmarshal(lines.Bytes(), &r) != nil {
			continue // the last line of a killed process may be torn
		}
		p.mu.Lock()
		p.records = append(p.records, r)
		close(p.grown)
		p.grown = make(chan struct{})
		p.mu.Unlock()
	}
	_ = p.cmd.Wait() // stderr has the reason of a failure
}

// ErrLate says that the limit of Await has passed.
var ErrLate = errors.New("no contender got that far in time")

// Await returns the first record of the phase after the first skip records, or ErrLate.
func (p *Process) Await(skip int, want Phase, limit time.Duration) (Record, error) {
	timeout := time.After(limit)
	for {
		p.mu.Lock()
		records, grown := p.records, p.grown
		p.mu.Unlock()
		for ; skip < len(records); skip++ {
			if records[skip].Phase == want {
				return records[skip], nil
			}
		}
		select {
		case <-grown:
		case <-p.ended:
			return Record{}, fmt.Errorf("a process of contenders ended before it was %s: %s", want, p.stderr.String())
		case <-timeout:
			return Record{}, fmt.Errorf("no contender of a process was %s within %s: %w", want, limit, ErrLate)
		}
	}
}

// History returns the records so far.
func (p *Process) History() []Record {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.records)
}

// Pause stops the process, which does not notice.
func (p *Process) Pause() error { return servers.Group(p.cmd.Process.Pid).Pause() }

// Resume lets a paused process go on.
func (p *Process) Resume() error { return servers.Group(p.cmd.Process.Pid).Resume() }

// Order sends a line to the process, and returns the number of records before it.
func (p *Process) Order(line string) (seen int, err error) {
	seen = len(p.History())
	if _, err := io.WriteString(p.orders, line); err != nil {
		return 0, fmt.Errorf("order %q of a process of contenders: %w", line, err)
	}
	return seen, nil
}

// Finish asks the contenders to stop, and waits for them. It fails if there was a data race or a panic.
func (p *Process) Finish() error {
	_ = p.orders.Close() // fails when the process has ended
	select {
	case <-p.ended:
		if text := p.stderr.String(); strings.Contains(text, "DATA RACE") || strings.Contains(text, "panic") {
			return fmt.Errorf("a process of contenders failed:\n%s", text)
		}
		return nil
	case <-time.After(finishLimit):
		p.Kill()
		return errors.New("a process of contenders hung and was killed")
	}
}

// Kill kills the process and waits for its end.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // fails when it has ended
	<-p.ended
}
