package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// ErrAttached is returned by methods that need the server's process if the server
// was not started here but attached to.
var ErrAttached = errors.New("server was not started by this process")

// startTimeout bounds a start whose context has no earlier deadline.
const startTimeout = 90 * time.Second

// Spec describes a server program to run.
type Spec struct {
	// Name is the server's name in errors and file names: "redis".
	Name string
	// Path is the program, Args its arguments.
	Path string
	Args []string
	// Env are the settings in the program's Environment; later entries win.
	Env []string
	// Dir is the working directory. The log is written to Dir/Name.log.
	Dir string
	// Addr is the listen address, as host:port. Server.Addr returns it.
	Addr string
	// Ready returns nil once the server answers. It is called again until it
	// does, each time with about two seconds. Nil means ready when started.
	Ready func(ctx context.Context) error
}

// Server is a server program that runs as a child process.
type Server struct {
	spec Spec

	oneStart sync.Mutex // held for the length of a start, so that two cannot overlap

	mu       sync.Mutex // guards what follows, and spec.Env
	proc     *process   // the last one started; nil if attached
	starting bool
}

// Start runs the program and returns once it is ready. If the program ends before, or is not ready when ctx or the
// limit of 90 seconds ends, it is killed, and the error holds the end of its log.
func Start(ctx context.Context, spec Spec) (*Server, error) {
	if err := os.MkdirAll(spec.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	s := &Server{spec: spec}
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

func attach(name, addr string) *Server {
	return &Server{spec: Spec{Name: name, Addr: addr}}
}

func (s *Server) server() *Server { return s }

// Name returns the server's name.
func (s *Server) Name() string { return s.spec.Name }

// Addr returns where the server listens, as host:port. It stays the same over restarts.
func (s *Server) Addr() string { return s.spec.Addr }

// LogPath returns the file with the server's output, over all its restarts.
func (s *Server) LogPath() string { return filepath.Join(s.spec.Dir, s.spec.Name+".log") }

// Pid returns the process's id, or 0 if there is none.
func (s *Server) Pid() int {
	if p := s.current(); p != nil && p.running() {
		return p.cmd.Process.Pid
	}
	return 0
}

// Running reports whether the process exists, even if it is paused or not ready yet.
func (s *Server) Running() bool { return s.Pid() != 0 }

// Paused reports whether the process is stopped by a signal, as Group.Paused does.
func (s *Server) Paused() bool { return Group(s.Pid()).Paused() }

// Starting reports whether Start or Restart waits until the server is ready.
func (s *Server) Starting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.starting
}

// Done returns a channel that is closed when the current process has ended, or nil, which blocks forever, for an
// attached server.
func (s *Server) Done() <-chan struct{} {
	if p := s.current(); p != nil {
		return p.done
	}
	return nil
}

// Stop asks the process to end and waits for it. It resumes a paused process. If ctx ends first, Stop kills the process
// and returns an error. It also returns an error if the exit code is not 0. If the process has already ended, Stop does
// nothing.
func (s *Server) Stop(ctx context.Context) error {
	return s.with("stop", func(p *process) error { return p.stop(ctx) })
}

// Kill ends the process and its children with SIGKILL and waits until it is gone.
func (s *Server) Kill() error { return s.with("kill", (*process).kill) }

// Pause stops the process and its children with SIGSTOP. Connections stay open; once Pause has returned, nothing
// answers.
func (s *Server) Pause() error {
	return s.with("pause", func(p *process) error {
		if err := p.signal(Group.Pause); err != nil {
			return err
		}
		return awaitStopped(p.cmd.Process.Pid)
	})
}

// Resume continues a paused process. Resuming a running one does nothing.
func (s *Server) Resume() error {
	return s.with("resume", func(p *process) error { return p.signal(Group.Resume) })
}

// with calls do with the last process started, or returns ErrAttached if there is none.
func (s *Server) with(verb string, do func(*process) error) error {
	p, err := s.current(), ErrAttached
	if p != nil {
		err = do(p)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", verb, s.spec.Name, err)
	}
	return nil
}

// Restart stops the process if it is running, and starts it again with the same address and data. It returns once the
// server is ready.
func (s *Server) Restart(ctx context.Context) error {
	if err := s.Stop(ctx); err != nil {
		return err
	}
	return s.start(ctx)
}

// Launch starts an ended process again, like Restart, but does not wait until it is ready: it may need other servers
// that are not there yet.
func (s *Server) Launch() error {
	s.oneStart.Lock()
	defer s.oneStart.Unlock()
	if s.current() == nil {
		return fmt.Errorf("start %s: %w", s.spec.Name, ErrAttached)
	}
	_, _, err := s.launch()
	return err
}

// AwaitReady returns once the server is ready, or with an error when its
// process or ctx ends before.
func (s *Server) AwaitReady(ctx context.Context) error {
	return s.with("wait for", func(p *process) error { return s.awaitReady(ctx, p) })
}

// SetEnv replaces Spec.Env from the next start on.
func (s *Server) SetEnv(env []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spec.Env = env
}

func (s *Server) current() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc
}

// start launches the process, waits until it is ready, and kills it if it does not become ready.
func (s *Server) start(ctx context.Context) error {
	s.oneStart.Lock()
	defer s.oneStart.Unlock()
	s.setStarting(true)
	defer s.setStarting(false)
	p, logged, err := s.launch()
	if err != nil {
		return err
	}
	if err := s.awaitReady(ctx, p); err != nil {
		_ = p.kill()
		return fmt.Errorf("start %s: %w\n%s", s.spec.Name, err, logTail(s.LogPath(), logged))
	}
	return nil
}

func (s *Server) setStarting(is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starting = is
}

// launch starts the process and returns it with the size of its log before the start. The caller holds s.oneStart.
func (s *Server) launch() (_ *process, logged int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != nil && s.proc.running() {
		return nil, 0, fmt.Errorf("start %s: it runs already", s.spec.Name)
	}
	if taken(s.spec.Addr) {
		return nil, 0, fmt.Errorf("start %s: another process listens on %s", s.spec.Name, s.spec.Addr)
	}
	log, err := os.OpenFile(s.LogPath(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, 0, fmt.Errorf("start %s: %w", s.spec.Name, err)
	}
	defer func() { _ = log.Close() }() // the child has its own descriptor
	if logged, err = log.Seek(0, io.SeekEnd); err != nil {
		return nil, 0, fmt.Errorf("start %s: %w", s.spec.Name, err)
	}
	cmd := exec.Command(s.spec.Path, s.spec.Args...) //nolint:noctx // outlives the context of its start
	cmd.Dir = s.spec.Dir
	cmd.Env = Environment(s.spec.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	p, err := launch(cmd)
	if err != nil {
		return nil, 0, fmt.Errorf("start %s: %w", s.spec.Name, err)
	}
	s.proc = p
	return p, logged, nil
}

func (s *Server) awaitReady(ctx context.Context, p *process) error {
	if s.spec.Ready == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	go func() { // a probe of an ended process need not wait for an answer
		select {
		case <-p.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		try, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := s.spec.Ready(try)
		cancel()
		if err == nil && p.running() { // or another process has answered
			return nil
		}
		select {
		case <-ctx.Done():
			if !p.running() {
				return fmt.Errorf("the process ended: %s", p.cmd.ProcessState)
			}
			return fmt.Errorf("not ready: %w (last answer: %w)", context.Cause(ctx), err)
		case <-tick.C:
		}
	}
}
