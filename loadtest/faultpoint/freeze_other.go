//go:build faults && !linux

package faultpoint

import (
	"os"
	"syscall"
)

// freeze stops the process, very soon after the call.
func freeze() { _ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) }
