//go:build !linux

package servers

import "syscall"

// dieWithParent does nothing: only Linux has a parent-death signal.
func dieWithParent(*syscall.SysProcAttr) {}

// awaitStopped does not wait: there is no /proc to look at.
func awaitStopped(int) error { return nil }
