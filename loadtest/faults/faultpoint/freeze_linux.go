//go:build faults

package faultpoint

import (
	"os"
	"runtime"
	"syscall"
)

// freeze stops the process. The signal goes to the calling thread, so that it
// takes not one step more: sent to the process, it may reach another thread
// while this one goes on for a while.
func freeze() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_ = syscall.Tgkill(os.Getpid(), syscall.Gettid(), syscall.SIGSTOP)
}
