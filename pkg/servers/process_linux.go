package servers

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// dieWithParent makes the kernel kill the child when this process dies in any way.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// awaitStopped returns once no thread of the process is running. SIGSTOP reaches a thread only when it is next
// scheduled.
func awaitStopped(pid int) error {
	const limit = 5 * time.Second
	for begin := time.Now(); ; time.Sleep(time.Millisecond) { // there is no event for it
		if allStopped(pid) {
			return nil
		}
		if time.Since(begin) > limit {
			return fmt.Errorf("process %d still runs %s after SIGSTOP", pid, limit)
		}
	}
}

func allStopped(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return false
	}
	for _, file := range threads {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		_, state, _ := bytes.Cut(stat, []byte(") ")) // "tid (name) state …"
		if len(state) > 0 && !bytes.ContainsRune([]byte("TtZX"), rune(state[0])) {
			return false
		}
	}
	return true
}
