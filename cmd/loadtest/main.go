// Command loadtest fires orders at the services and judges the run: under plain load, under every fault, with broken
// variants of the services, and with each deduction strategy. It exits with 0 if everything holds, 1 on a violation, 2
// if the result is unknown, and 64 on wrong usage.
package main

import (
	"os"

	"orderstock/pkg/command"
)

func main() { command.Main(newCommand(command.Output(os.Stdout), command.Output(os.Stderr))) }
