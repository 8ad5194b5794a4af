package servers

import "syscall"

// dieWithParent has the kernel kill the child when this process dies in whatever way.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
