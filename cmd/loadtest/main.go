// Command loadtest fires orders at the services and judges the run: under plain load, under
// every fault, with broken variants of the services, and with each strategy of deduction.
// It exits with 0 if everything holds, 1 on a violation, and 2 if it cannot tell.
package main

import (
	"os"

	"orderstock/pkg/command"
)

func main() { command.Main(newCommand(os.Stdout, os.Stderr)) }
