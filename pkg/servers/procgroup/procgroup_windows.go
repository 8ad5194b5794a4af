package procgroup

import (
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/windows"
)

// Lead makes cmd the leader of a new process group when it is started.
func Lead(cmd *exec.Cmd) { create(cmd, windows.CREATE_NEW_PROCESS_GROUP) }

// Detach makes cmd outlive the console that it is started from.
func Detach(cmd *exec.Cmd) { create(cmd, windows.CREATE_NEW_PROCESS_GROUP|windows.DETACHED_PROCESS) }

func create(cmd *exec.Cmd, flags uint32) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.CreationFlags |= flags
}

// Terminate asks the group that pid leads to end.
func Terminate(pid int) error { return Interrupt(pid) }

// Interrupt sends a Ctrl-Break to the group that pid leads.
func Interrupt(pid int) error {
	return windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(pid))
}

// Kill ends the process pid and its children.
func Kill(pid int) error {
	//nolint:noctx // ends by itself
	out, err := exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(pid)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("taskkill: %w: %s", err, out)
	}
	return nil
}

// Pause returns errors.ErrUnsupported.
func Pause(int) error { return errors.ErrUnsupported }

// Resume returns errors.ErrUnsupported.
func Resume(int) error { return errors.ErrUnsupported }
