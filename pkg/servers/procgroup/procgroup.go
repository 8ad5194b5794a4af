// Package procgroup starts a command as the leader of a new process group, and signals the
// whole group by the leader's process id. A Ctrl-C at the terminal does not reach such a group.
package procgroup

import (
	"os/exec"
	"syscall"
)

// Lead makes cmd the leader of a new process group when it is started.
func Lead(cmd *exec.Cmd) { attr(cmd).Setpgid = true }

// Detach makes cmd outlive the terminal that it is started from.
func Detach(cmd *exec.Cmd) { attr(cmd).Setsid = true }

func attr(cmd *exec.Cmd) *syscall.SysProcAttr {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	return cmd.SysProcAttr
}

// Terminate asks the process pid alone to end.
func Terminate(pid int) error { return syscall.Kill(pid, syscall.SIGTERM) }

// Interrupt sends SIGINT, as Ctrl-C does, to the group that pid leads.
func Interrupt(pid int) error { return syscall.Kill(-pid, syscall.SIGINT) }

// Kill ends the group that pid leads.
func Kill(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }

// Pause stops the group that pid leads, until Resume.
func Pause(pid int) error { return syscall.Kill(-pid, syscall.SIGSTOP) }

// Resume lets the group that pid leads go on. If it is not paused, Resume does nothing.
func Resume(pid int) error { return syscall.Kill(-pid, syscall.SIGCONT) }

// Alive reports whether the process exists.
func Alive(pid int) bool { return pid > 0 && syscall.Kill(pid, 0) == nil }
