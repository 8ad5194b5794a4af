// Command judge judges any shop with an ordering API, described by a file. It is the command "judge" of loadtest, and
// apart from it, so that "make demo" does not compile a driver of PostgreSQL. It exits with 0 if everything holds, 1 on
// a violation, 2 if the result is unknown, 64 on wrong usage and 65 for a wrong file.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"orderstock/loadtest/judge/demo"
	"orderstock/pkg/command"
)

func main() {
	cmd := newCommand(command.Output(os.Stdout), command.Output(os.Stderr))
	if demo.Asked() {
		cmd = &cobra.Command{Use: "judge"}
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return demo.Serve(cmd.Context()) }
	}
	command.Main(cmd)
}
