// Command judge judges any shop with an ordering API, described by a file. It is the command "judge" of loadtest, and
// apart from it, so that "make demo" does not compile a driver of PostgreSQL. It exits with 0 if everything holds, 1 on
// a violation, 2 if the result is unknown, and 64 on wrong usage.
package main

import (
	"os"

	"orderstock/pkg/command"
)

func main() { command.Main(newCommand(command.Output(os.Stdout), command.Output(os.Stderr))) }
