package programs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// Install installs missing programs with apt-get if this is Debian or a relative of it and the user is root. Otherwise
// its error names the packages. It calls say with each command.
func Install(ctx context.Context, say func(doing string), missing []*MissingError) error {
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
