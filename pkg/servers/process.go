package servers

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// process is a child that leads its own process group.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed once the child has been waited for
}

// StartChild starts cmd as the leader of a new process group. On Linux it is killed when this process ends in any way.
// Callers must call cmd.Wait.
func StartChild(cmd *exec.Cmd) error {
	Lead(cmd)
	dieWithParent(cmd.SysProcAttr)
	return spawner()(cmd)
}

// launch starts cmd by StartChild and waits for its end in the background.
func launch(cmd *exec.Cmd) (*process, error) {
	if err := StartChild(cmd); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	go p.wait()
	return p, nil
}

func (p *process) wait() {
	defer close(p.done)
	_ = p.cmd.Wait()                    // how it ended is in cmd.ProcessState
	_ = Group(p.cmd.Process.Pid).Kill() // the children that it left behind
}

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

func (p *process) stop(ctx context.Context) error {
	if !p.running() {
		return nil
	}
	_ = Group(p.cmd.Process.Pid).Terminate() // fails only if it has ended
	_ = p.signal(Group.Resume)
	select {
	case <-p.done:
	case <-ctx.Done():
		_ = p.kill()
		return fmt.Errorf("killed, as it did not end by itself: %w", context.Cause(ctx))
	}
	status, _ := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case status.Exited() && (status.ExitStatus() == 0 || status.ExitStatus() == 128+int(syscall.SIGTERM)): // Java's way
	case status.Signaled() && status.Signal() == syscall.SIGTERM:
	default:
		return fmt.Errorf("it ended with %s", p.cmd.ProcessState)
	}
	return nil
}

func (p *process) kill() error {
	_ = p.signal(Group.Kill) // fails only if it has ended
	<-p.done
	return nil
}

// signal calls send with the process's group, unless the process has ended.
func (p *process) signal(send func(Group) error) error {
	if !p.running() {
		return fmt.Errorf("it has ended: %s", p.cmd.ProcessState)
	}
	return send(Group(p.cmd.Process.Pid))
}

// spawner returns the function that starts commands. All are started from one OS thread that lives as long as the
// process: the kernel sends the parent-death signal when the thread that forked ends, and the Go runtime may end
// threads at any time. This is the one goroutine that nothing stops.
var spawner = sync.OnceValue(func() func(*exec.Cmd) error {
	requests := make(chan spawnRequest)
	go spawn(requests)
	return func(cmd *exec.Cmd) error {
		r := spawnRequest{cmd, make(chan error, 1)}
		requests <- r
		return <-r.reply
	}
})

type spawnRequest struct {
	cmd   *exec.Cmd
	reply chan error
}

func spawn(requests <-chan spawnRequest) {
	runtime.LockOSThread()
	for r := range requests {
		r.reply <- r.cmd.Start()
	}
}
