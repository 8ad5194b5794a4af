package locktest_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is a worker process and its records so far.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	ended chan struct{}
	holds chan struct{} // has an element when a long holding has just begun

	mu      sync.Mutex
	records []record
	grown   chan struct{} // closed at the next record
	paused  bool          // was ever stopped
}

func startProcess(t *testing.T, w worker) *process {
	t.Helper()
	orders, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), workerEnv+"="+string(orders))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{
		cmd: cmd, stdin: stdin,
		ended: make(chan struct{}), holds: make(chan struct{}, 1), grown: make(chan struct{}),
	}
	go func() {
		defer close(p.ended)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			var r record
			if json.Unmarshal(lines.Bytes(), &r) != nil {
				continue // the last line of a killed process may be torn
			}
			p.mu.Lock()
			p.records = append(p.records, r)
			close(p.grown)
			p.grown = make(chan struct{})
			p.mu.Unlock()
			if r.Phase == settled {
				select {
				case p.holds <- struct{}{}:
				default:
				}
			}
		}
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		p.kill()
		// A race found in a worker is a failure of the test that ran it.
		if strings.Contains(stderr.String(), "DATA RACE") || strings.Contains(stderr.String(), "panic") {
			t.Errorf("worker:\n%s", stderr.String())
		}
	})
	return p
}

// wait waits for a record after the first skip ones that is of the phase.
func (p *process) wait(t *testing.T, skip int, want phase, limit time.Duration) {
	t.Helper()
	if !p.await(skip, want, limit) {
		t.Fatalf("no %q of a worker within %s", want, limit)
	}
}

// await says whether there was such a record in time.
func (p *process) await(skip int, want phase, limit time.Duration) bool {
	timeout := time.After(limit)
	for {
		p.mu.Lock()
		records, grown := p.records, p.grown
		p.mu.Unlock()
		for ; skip < len(records); skip++ {
			if records[skip].Phase == want {
				return true
			}
		}
		select {
		case <-grown:
		case <-p.ended:
			return false
		case <-timeout:
			return false
		}
	}
}

func (p *process) history() []record {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]record(nil), p.records...)
}

func (p *process) count() int { return len(p.history()) }

func (p *process) pause(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	p.paused = true
	p.mu.Unlock()
	p.signal(t, syscall.SIGSTOP)
}

func (p *process) resume(t *testing.T) { t.Helper(); p.signal(t, syscall.SIGCONT) }

func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatalf("signal worker: %v", err)
	}
}

// finish asks the worker to end its work, and waits for it.
func (p *process) finish(t *testing.T) {
	t.Helper()
	_ = p.stdin.Close()
	select {
	case <-p.ended:
	case <-time.After(2 * acquireLimit):
		t.Error("a worker hangs")
		p.kill()
	}
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails when it has ended
	<-p.ended
}
