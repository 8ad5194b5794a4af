package judge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"orderstock/loadtest/judge/send"
	"orderstock/loadtest/judge/shell"
	"orderstock/loadtest/judge/shop"
	"orderstock/pkg/servers"
)

// service kills and starts the shop's process or container.
type service struct {
	conf   *shop.Service
	dir    string
	target *url.URL
	sender *send.Sender
	says   io.Writer // of a wait that takes long; or nil

	cmd    *exec.Cmd // the process, if the judge started it
	ended  chan struct{}
	output *os.File
}

// begin starts the service, if the judge is to; else it must serve already.
func (s *service) begin(ctx context.Context) error {
	if s.conf.Kill != "" || s.conf.Container != "" {
		return s.awaitReady(ctx)
	}
	if s.sender.Reach(ctx, s.target) == nil {
		return fmt.Errorf("another process answers at %s already: stop it, as the judge starts the service itself", s.target)
	}
	return s.start(ctx)
}

// start starts the service and waits until it is ready.
func (s *service) start(ctx context.Context) (err error) {
	switch {
	case s.conf.Container != "":
		err = s.command(ctx, "docker start '"+s.conf.Container+"'")
	case s.conf.Kill != "":
		err = s.command(ctx, s.conf.Start)
	default:
		err = s.launch()
	}
	if err != nil {
		return err
	}
	return s.awaitReady(ctx)
}

// ensure starts the service if nothing answers at its address.
func (s *service) ensure(ctx context.Context) error {
	if s.sender.Reach(ctx, s.target) == nil {
		return nil
	}
	return s.start(ctx)
}

// diesWithin is how long a process may take to end after its address is closed, and docker to say how it has ended.
const diesWithin = 10 * time.Second

// died reports whether the container, or the process that the judge started, has ended and nothing answers at its
// address, and how.
func (s *service) died(ctx context.Context) (how string, dead bool) {
	container := s.conf.Container != ""
	if !container && s.ended == nil || s.sender.Reach(ctx, s.target) == nil {
		return "", false
	}
	if container {
		ctx, cancel := context.WithTimeout(ctx, diesWithin)
		defer cancel()
		status, err := shell.Run(ctx, s.dir, "docker wait '"+s.conf.Container+"'", "")
		return "exit status " + strings.TrimSpace(status), err == nil
	}
	select {
	case <-s.ended:
		return s.cmd.ProcessState.String(), true
	case <-time.After(diesWithin):
		return "", false
	}
}

// launch starts the process in its own group.
func (s *service) launch() (err error) {
	if s.output == nil {
		if s.output, err = os.CreateTemp("", "loadtest-judge-service-*.log"); err != nil {
			return fmt.Errorf("start the service: %w", err)
		}
	}
	s.cmd = exec.Command("sh", "-c", s.conf.Start) //nolint:noctx // it ends with kill or end
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = s.dir, s.output, s.output
	servers.Lead(s.cmd)
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("start the service: %w", err)
	}
	s.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) {
		_ = cmd.Wait() // how it ended is in its state
		close(ended)
	}(s.cmd, s.ended)
	return nil
}

// saysAfter is how long a wait for the service takes before it is said.
const saysAfter = 3 * time.Second

// secure reports whether an answer is the one to a request by http at a port of https.
func secure(a *shop.Answer) bool {
	parts := []string{"HTTP request to an HTTPS server", "HTTP request was sent to HTTPS port", "SSL-enabled server port"}
	says := func(part string) bool { return strings.Contains(string(a.Body), part) }
	return a.Status == http.StatusBadRequest && slices.ContainsFunc(parts, says)
}

// awaitReady waits until the service answers, unless the answer shows that it never will.
func (s *service) awaitReady(ctx context.Context) error {
	ready := s.target.JoinPath("/").JoinPath(s.conf.Ready) // without the first, the path would begin without a slash
	request := &shop.Rendered{Method: http.MethodGet, URL: ready, Header: http.Header{}}
	start, said := time.Now(), s.says == nil
	deadline := start.Add(time.Duration(s.conf.Within))
	for {
		a, err := s.sender.Session().Do(ctx, request, false)
		if err == nil && (s.conf.Ready == "" && !secure(a) || a.Status < http.StatusBadRequest) {
			return nil
		}
		select {
		case <-s.ended: // never, if it is not the judge's child
			return fmt.Errorf("the service ended before it was ready: %s%s", s.cmd.ProcessState, s.said())
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
		if err == nil {
			if secure(a) {
				return fmt.Errorf("the service speaks https: write target: https://%s", s.target.Host)
			}
			err = fmt.Errorf("%d %s", a.Status, cut(string(a.Body), bodyShown))
		}
		if send.Never(err) {
			return err
		}
		if !said && time.Since(start) > saysAfter {
			said = true
			// A lost line does not fail the run.
			_, _ = fmt.Fprintf(terminal{s.says}, "waiting for the service: GET %s: %s\n", ready, err)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the service is not ready after %s: GET %s: %w%s",
				time.Duration(s.conf.Within), ready, err, s.said())
		}
	}
}

// reach connects to the service that is to be killed.
func (s *service) reach(ctx context.Context) (net.Conn, error) {
	open, err := s.sender.Connect(ctx, s.target)
	if err != nil {
		return nil, fmt.Errorf("before the kill: %w", err)
	}
	return open, nil
}

// kill kills the service without a warning. It returns an error if that does not end open, an idle connection to it:
// another process serves then. The service itself may be started again before kill returns, by a supervisor.
func (s *service) kill(ctx context.Context, open net.Conn) (err error) {
	defer func() { _ = open.Close() }() // nothing was sent
	switch {
	case s.conf.Container != "":
		err = s.command(ctx, "docker kill -s KILL '"+s.conf.Container+"'")
	case s.conf.Kill != "":
		err = s.command(ctx, s.conf.Kill)
	default:
		err = s.killGroup()
	}
	if err != nil {
		return err
	}
	_ = open.SetReadDeadline(time.Now().Add(killWithin))
	// By HTTP/2, the server speaks first.
	if _, err := io.Copy(io.Discard, open); errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("the service was killed, and another process answers at %s", s.target)
	}
	return nil
}

// killWithin is how long the connections of a killed process may live.
const killWithin = 5 * time.Second

func (s *service) killGroup() error {
	select {
	case <-s.ended:
		return fmt.Errorf("the service has ended by itself: %s%s", s.cmd.ProcessState, s.said())
	default:
	}
	if err := servers.Group(s.cmd.Process.Pid).Kill(); err != nil {
		return fmt.Errorf("kill the service: %w", err)
	}
	<-s.ended
	return nil
}

func (s *service) command(ctx context.Context, line string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(s.conf.Within))
	defer cancel()
	if _, err := shell.Run(ctx, s.dir, line, ""); err != nil {
		return fmt.Errorf("%s: %w", line, err)
	}
	return nil
}

// stopWithin bounds a friendly stop.
const stopWithin = 5 * time.Second

// end stops the service, if the judge started it.
func (s *service) end() {
	if s.ended != nil {
		_ = servers.Group(s.cmd.Process.Pid).Terminate() // fails only if it has ended
		select {
		case <-s.ended:
		case <-time.After(stopWithin):
		}
		_ = servers.Group(s.cmd.Process.Pid).Kill() // and what it left behind
		<-s.ended
	}
	if s.output != nil {
		_ = s.output.Close()
		_ = os.Remove(s.output.Name())
	}
}

// said returns the end of the service's output, on new lines.
func (s *service) said() string {
	if lines := lines(s.lastWords()); len(lines) > 0 {
		return "\n" + strings.Join(lines, "\n")
	}
	return ""
}

// lastLines returns the end of the output of the service, or of its container.
func (s *service) lastLines(ctx context.Context) []string {
	if s.conf.Container == "" {
		return lines(s.lastWords())
	}
	text, err := shell.Run(ctx, s.dir, "docker logs --tail 20 '"+s.conf.Container+"' 2>&1", "")
	if err != nil {
		return nil
	}
	return lines(text[max(0, len(text)-mostWords):])
}

// mostWords bounds the end of an output, in bytes.
const mostWords = 1000

func lines(text string) []string {
	return strings.FieldsFunc(strings.TrimSpace(text), func(r rune) bool { return r == '\n' })
}

// lastWords returns the end of the output of the process that the judge started.
func (s *service) lastWords() string {
	if s.output == nil {
		return ""
	}
	info, err := s.output.Stat()
	if err != nil {
		return ""
	}
	from := max(0, info.Size()-mostWords)
	text, err := io.ReadAll(io.NewSectionReader(s.output, from, mostWords))
	if err != nil {
		return ""
	}
	return string(text)
}
