package servers

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// Group is the process id of a command that leads its own process group, which a Ctrl-C at the terminal does not reach.
// Signals go to the whole group, except Terminate's.
type Group int

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

// Terminate asks the leader alone to end.
func (g Group) Terminate() error { return syscall.Kill(int(g), syscall.SIGTERM) }

// Interrupt sends SIGINT, as Ctrl-C does.
func (g Group) Interrupt() error { return syscall.Kill(-int(g), syscall.SIGINT) }

// Kill ends the group.
func (g Group) Kill() error { return syscall.Kill(-int(g), syscall.SIGKILL) }

// Pause stops the group, until Resume.
func (g Group) Pause() error { return syscall.Kill(-int(g), syscall.SIGSTOP) }

// Resume lets the group go on. If it is not paused, Resume does nothing.
func (g Group) Resume() error { return syscall.Kill(-int(g), syscall.SIGCONT) }

// Alive reports whether the leader exists.
func (g Group) Alive() bool { return g > 0 && syscall.Kill(int(g), 0) == nil }

// Paused reports whether a signal has stopped the leader. It is false on systems without /proc.
func (g Group) Paused() bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", g))
	if err != nil {
		return false
	}
	// The state follows the name, which is in parentheses and may hold anything.
	_, rest, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')'):]), " ")
	return strings.HasPrefix(rest, "T")
}
