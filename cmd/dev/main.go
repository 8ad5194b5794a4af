// Command dev runs the whole of orderstock on this machine without containers: servers, services, the load tester and
// its verdict. It also fills the documents' tables. The Makefile calls it, after setup has installed missing programs.
package main

import (
	"syscall"

	"orderstock/pkg/command"
)

// SIGHUP too: when a terminal closes, no server is left behind.
func main() { command.Main(newCommand(), syscall.SIGHUP) }
