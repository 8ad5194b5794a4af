package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"orderstock/pkg/command"
	"orderstock/pkg/servers"
)

func installCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "install",
		Short: "Install what the servers and the tests need and this machine lacks, with apt-get",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return install(cmd.Context(), command.Progress(os.Stderr), forTests(cmd.Context()))
		},
	}
}

func forTests(ctx context.Context) []*servers.MissingError {
	return append(servers.Missing(), servers.MissingForTests(ctx)...)
}

// install installs missing programs with apt-get if this is Debian or a relative of it and the user
// is root. Otherwise its error names the packages.
func install(ctx context.Context, say func(string), missing []*servers.MissingError) error {
	if len(missing) == 0 {
		return nil
	}
	var programs, packages []string
	for _, m := range missing {
		programs = append(programs, m.Program)
		packages = append(packages, m.Packages...)
	}
	slices.Sort(packages)
	packages = slices.Compact(packages)
	what, list := strings.Join(programs, ", "), strings.Join(packages, " ")
	apt, err := exec.LookPath("apt-get")
	switch {
	case err != nil:
		return fmt.Errorf("not installed: %s; this is not Debian or Ubuntu, so install it by hand "+
			"(the Debian packages are: %s)", what, list)
	case os.Geteuid() != 0:
		return fmt.Errorf("not installed: %s; run: sudo apt-get install %s", what, list)
	}
	for _, args := range [][]string{
		{"update", "-qq"},
		append([]string{"install", "-y", "-qq", "--no-install-recommends"}, packages...),
	} {
		say("apt-get " + strings.Join(args, " "))
		cmd := exec.CommandContext(ctx, apt, args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("apt-get %s: %w\n%s", args[0], err, out)
		}
	}
	return nil
}
