package system_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"orderstock/loadtest/system"
	"orderstock/loadtest/system/systemtest"
	"orderstock/pkg/httpapi"
)

// TestALogThatNobodyReadsStopsNoService: both services start, answer and stop while the pipe of their log is full from
// the beginning, and after its reader has gone.
func TestALogThatNobodyReadsStopsNoService(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	st := systemtest.Start(t, cfg)
	for name, leave := range map[string]bool{"stalled": false, "closed": true} {
		for _, s := range st.Replicas() {
			t.Run(string(s.Kind)+", "+name, func(t *testing.T) {
				if err := s.Stop(t.Context()); err != nil {
					t.Fatal(err)
				}
				read, write := fullPipe(t)
				cmd := exec.CommandContext(t.Context(), filepath.Join(cfg.Bin, string(s.Kind)+"-service"))
				cmd.Stderr, cmd.Env = write, append(os.Environ(), system.Assignments(s.Env())...)
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				if leave {
					_ = read.Close()
				}
				ended := make(chan error, 1)
				go func() { ended <- cmd.Wait() }()
				eventually(t, "it is ready", func() bool { return httpapi.AskHealth(t.Context(), s.URL()+"/readyz") == nil })
				if s.Kind == system.Stock {
					send(t, st, "POST", s.URL()+"/v1/stock/1/restock", `{"flag":"`+name+`","num":5}`)
				}
				if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
				select {
				case err := <-ended:
					if err != nil {
						t.Errorf("after SIGTERM: %v", err)
					}
				case <-time.After(30 * time.Second):
					t.Error("SIGTERM did not end it")
				}
			})
			if err := s.Restart(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// fullPipe returns a pipe that takes no byte more.
func fullPipe(t *testing.T) (read, write *os.File) {
	t.Helper()
	var ends [2]int
	if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	if err := syscall.SetNonblock(ends[1], true); err != nil {
		t.Fatal(err)
	}
	for full := make([]byte, 4096); ; {
		if _, err := syscall.Write(ends[1], full); err != nil {
			break
		}
	}
	if err := syscall.SetNonblock(ends[1], false); err != nil {
		t.Fatal(err)
	}
	read, write = os.NewFile(uintptr(ends[0]), "read"), os.NewFile(uintptr(ends[1]), "write")
	t.Cleanup(func() { _, _ = read.Close(), write.Close() })
	return read, write
}
