package tracing_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"

	"orderstock/pkg/observe"
	"orderstock/pkg/tracing"
)

// A step of a process that is stopped and resumed shows the pause; one before it does not.
func TestPauseOfTheProcess(t *testing.T) {
	if os.Getenv("TRACING_TEST_CHILD") != "" {
		pausedChild(t)
		return
	}
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPauseOfTheProcess$", "-test.v")
	cmd.Env = append(os.Environ(), "TRACING_TEST_CHILD=1")
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	defer func() { _ = cmd.Wait() }()
	said := bufio.NewScanner(out)
	await := func(word string) string {
		for said.Scan() {
			if _, rest, ok := strings.Cut(said.Text(), word); ok {
				return rest
			}
		}
		t.Fatalf("the child ended before it said %q", word)
		return ""
	}
	await("BEGUN")
	must(t, cmd.Process.Signal(syscall.SIGSTOP))
	time.Sleep(time.Second) // the pause
	must(t, cmd.Process.Signal(syscall.SIGCONT))
	fmt.Fprintln(in)
	if told := await("PAUSES "); told != "calm 0, stopped 1" {
		t.Errorf("spans show the pauses: %s", told)
	}
}

func pausedChild(t *testing.T) {
	t.Helper()
	tracer, spans := recorder(t)
	ctx, root := tracer.Start(t.Context(), "root")
	defer root.End()
	go tracing.WatchPauses(t.Context())
	time.Sleep(50 * time.Millisecond) // until it watches
	_, step := observe.Begin(ctx, "calm")
	step.End(nil)
	_, step = observe.Begin(ctx, "stopped")
	fmt.Println("\nBEGUN")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	step.End(nil)
	ended := spans.Ended()
	fmt.Printf("PAUSES calm %d, stopped %d\n", longPauses(ended[0]), longPauses(ended[1]))
}

// longPauses counts the pauses that a slow machine does not make by itself.
func longPauses(span sdk.ReadOnlySpan) (n int) {
	for _, event := range span.Events() {
		for _, attr := range event.Attributes {
			if attr.Value.AsInt64() >= 700 {
				n++
			}
		}
	}
	return n
}
