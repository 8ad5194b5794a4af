package command_test

import (
	"bufio"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"orderstock/pkg/command"
)

// stops is the environment variable that makes the test program run Main with a command whose stop never ends.
const stops = "COMMAND_TEST_STOPS"

func TestMain(m *testing.M) {
	if os.Getenv(stops) == "" {
		os.Exit(m.Run())
	}
	command.Main(&cobra.Command{Use: "stops", RunE: func(cmd *cobra.Command, _ []string) error {
		cmd.Println("running")
		<-cmd.Context().Done()
		cmd.Println("stopping")
		select {}
	}}, syscall.SIGHUP)
}

// The first Ctrl-C asks a program to stop, and the second ends it. A parent may pass the first one on, and a closed
// terminal may send its signal twice, which must not leave anything behind.
func TestASecondInterruptEndsTheProgram(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ first, second, last syscall.Signal }{
		"Ctrl-C":            {syscall.SIGINT, 0, syscall.SIGINT},
		"SIGTERM":           {syscall.SIGTERM, 0, syscall.SIGTERM},
		"one of each":       {syscall.SIGTERM, 0, syscall.SIGINT},
		"one twice":         {syscall.SIGINT, syscall.SIGINT, syscall.SIGKILL},
		"a closed terminal": {syscall.SIGHUP, syscall.SIGHUP, syscall.SIGKILL},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for !ended(t, c.first, c.second, c.last) {
				t.Log("the second signal was too late to count as the first")
			}
		})
	}
}

// ended sends the signals to a program: the second, if there is one, within half a second after the first, and the last
// one until the program ends by it. It reports false if the machine was too slow.
func ended(t *testing.T, first, second, last syscall.Signal) bool {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), stops+"=1")
	stderr, err := child.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	hung := time.AfterFunc(2*time.Minute, func() { _ = child.Process.Kill() })
	defer hung.Stop()
	lines := bufio.NewScanner(stderr)
	await := func(line string) {
		t.Helper()
		if !lines.Scan() || lines.Text() != line {
			t.Errorf("printed %q, want %q", lines.Text(), line)
		}
	}
	send := func(s syscall.Signal) {
		t.Helper()
		if err := child.Process.Signal(s); err != nil {
			t.Error(err)
		}
	}
	await("running")
	sent := time.Now()
	send(first)
	await("stopping")
	if second != 0 {
		send(second)
		if time.Since(sent) > 400*time.Millisecond {
			_ = child.Process.Kill() // it may have ended
			_ = child.Wait()
			return false
		}
		time.Sleep(time.Second) // nothing may happen
	}
	end := make(chan error, 1)
	go func() { end <- child.Wait() }()
	for {
		_ = child.Process.Signal(last) // again, if the program was not ready for it; it may have ended
		select {
		case err := <-end:
			if err == nil || err.Error() != "signal: "+last.String() {
				t.Errorf("the program ended with: %v; want %s", err, last)
			}
			return true
		case <-time.After(10 * time.Millisecond):
		}
	}
}
