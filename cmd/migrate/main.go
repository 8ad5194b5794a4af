// Command migrate creates the databases, their users and their tables, or prunes old orders, and exits. It may be run
// again, and twice at the same time.
package main

import (
	"os"

	"orderstock/pkg/command"
)

func main() { command.Main(newCommand(os.Stdout)) }
