package programs

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// debian lists the Debian packages for servers and tests.
var debian = struct {
	mysql, redis, zookeeper, javac, gcc, curator, kazoo, chromium, prometheus, make, postgresql, sqlite []string
}{
	mysql:      []string{"default-mysql-server"},
	redis:      []string{"redis-server"},
	zookeeper:  []string{"zookeeper", "default-jre-headless"}, // together, so that one install is enough
	javac:      []string{"default-jdk-headless"},
	gcc:        []string{"gcc", "libc6-dev"},
	curator:    []string{"libcurator-recipes-java"},
	kazoo:      []string{"python3-kazoo"},
	chromium:   []string{"chromium"},
	prometheus: []string{"prometheus"}, // with promtool
	make:       []string{"make"},
	postgresql: []string{"postgresql"},
	sqlite:     []string{"sqlite3"},
}

// MissingError means that a program is not installed, and names the packages that hold it.
type MissingError struct {
	// Program is the missing program.
	Program string
	// Packages are the Debian packages that hold it.
	Packages []string
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s is not installed; on Debian or Ubuntu: apt-get install %s; "+
		"elsewhere install it and put it on the PATH", e.Program, strings.Join(e.Packages, " "))
}

// Missing returns the programs that the servers need and do not find on this machine, or nil.
func Missing() []*MissingError {
	return missing(
		func() error { _, err := MySQL(); return err },
		func() error { _, err := Redis(); return err },
		func() error { _, _, err := ZooKeeper(); return err },
	)
}

// MissingForTests returns the missing programs among the additional ones of the project's tests: make, a C compiler, a
// Java compiler, Curator and kazoo, the other clients of the lock, Chromium, Prometheus, PostgreSQL and SQLite.
func MissingForTests(ctx context.Context) []*MissingError {
	return missing(
		func() error { _, err := find(debian.make, "make"); return err },
		func() error { _, err := GCC(); return err },
		func() error { _, err := javac(); return err },
		func() error { _, err := Chromium(); return err },
		func() error { _, err := Prometheus(); return err },
		func() error { _, err := PostgreSQL(); return err },
		func() error { _, err := SQLite(); return err },
		func() error {
			if found, err := filepath.Glob("/usr/share/java/curator-recipes*.jar"); err != nil || len(found) == 0 {
				return &MissingError{Program: "Apache Curator", Packages: debian.curator}
			}
			return nil
		},
		func() error {
			// Debian's package belongs to Debian's Python, which another one may hide.
			if err := exec.CommandContext(ctx, "/usr/bin/python3", "-c", "import kazoo").Run(); err != nil {
				return &MissingError{Program: "kazoo", Packages: debian.kazoo}
			}
			return nil
		},
	)
}

func missing(finds ...func() error) []*MissingError {
	var missing []*MissingError
	for _, find := range finds {
		if m, ok := errors.AsType[*MissingError](find()); ok {
			missing = append(missing, m)
		}
	}
	return missing
}
