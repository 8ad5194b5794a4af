//go:build faults

package faultpoint

import (
	"os"
	"runtime"
	"syscall"
)

// freeze stops the process. The signal goes to the calling thread, which stops at once. A signal to the process may
// reach another thread, while this one runs on for a moment.
func freeze() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_ = syscall.Tgkill(os.Getpid(), syscall.Gettid(), syscall.SIGSTOP)
}
