package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"orderstock/pkg/servers"
)

func installCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "install",
		Short: "Install what the servers and the tests need and this machine lacks, with apt-get",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return install(cmd.Context(), progress(), forTests(cmd.Context()))
		},
	}
}

// need is something that must be installed, and the Debian packages that hold it.
type need struct {
	what     string
	packages []string
}

// forServers returns what the three servers lack.
func forServers() []need {
	var needs []need
	for _, m := range servers.Missing() {
		needs = append(needs, need{m.Program, m.Packages})
	}
	return needs
}

// forTests returns what the tests lack besides: a C compiler for the race
// detector, and a Java compiler, Curator and kazoo for the tests of the lock's wire format.
func forTests(ctx context.Context) []need {
	needs := forServers()
	if _, err := exec.LookPath("gcc"); err != nil {
		needs = append(needs, need{"gcc", []string{"gcc", "libc6-dev"}})
	}
	if _, err := exec.LookPath("javac"); err != nil {
		needs = append(needs, need{"javac", []string{"default-jdk-headless"}})
	}
	if found, _ := filepath.Glob("/usr/share/java/curator-recipes*.jar"); len(found) == 0 {
		needs = append(needs, need{"Apache Curator", []string{"libcurator-recipes-java"}})
	}
	// Debian's package is for Debian's Python, which another one may hide.
	if err := exec.CommandContext(ctx, "/usr/bin/python3", "-c", "import kazoo").Run(); err != nil {
		needs = append(needs, need{"kazoo", []string{"python3-kazoo"}})
	}
	return needs
}

// install installs what is missing with apt-get, where this is root on Debian
// or a relative of it, and else says what to install.
func install(ctx context.Context, say func(string), needs []need) error {
	if len(needs) == 0 {
		return nil
	}
	var what, packages []string
	for _, n := range needs {
		what = append(what, n.what)
		packages = append(packages, n.packages...)
	}
	slices.Sort(packages)
	packages = slices.Compact(packages)
	list := strings.Join(packages, " ")
	apt, err := exec.LookPath("apt-get")
	switch {
	case err != nil:
		return fmt.Errorf("not installed: %s; this is no Debian or Ubuntu, so install MySQL or MariaDB, Redis, ZooKeeper and Java by hand (the Debian packages are: %s)",
			strings.Join(what, ", "), list)
	case os.Geteuid() != 0:
		return fmt.Errorf("not installed: %s; run: sudo apt-get install %s", strings.Join(what, ", "), list)
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
