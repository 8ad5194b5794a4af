package programs

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

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
	_, _, err := ZooKeeper()
	return missing([]Program{MySQL, Redis}, err)
}

// MissingForCurator returns the missing programs among the additional ones of a lock of Apache Curator: a Java compiler
// and Curator.
func MissingForCurator() []*MissingError {
	var curator error
	if found, err := filepath.Glob("/usr/share/java/curator-recipes*.jar"); err != nil || len(found) == 0 {
		curator = &MissingError{Program: "Apache Curator", Packages: []string{"libcurator-recipes-java"}}
	}
	return missing([]Program{javac}, curator)
}

// MissingForTests returns the missing programs among the additional ones of the project's tests: make, a C compiler,
// Curator and kazoo, the other clients of the lock, Chromium, Prometheus, PostgreSQL and SQLite.
func MissingForTests(ctx context.Context) []*MissingError {
	_, postgreSQL := PostgreSQL()
	var kazoo error
	// Debian's package belongs to Debian's Python, which another one may hide.
	if err := exec.CommandContext(ctx, "/usr/bin/python3", "-c", "import kazoo").Run(); err != nil {
		kazoo = &MissingError{Program: "kazoo", Packages: []string{"python3-kazoo"}}
	}
	return append(MissingForCurator(), missing([]Program{maker, GCC, Chromium, Prometheus, SQLite}, postgreSQL, kazoo)...)
}

// missing returns the programs that are not there, and the others of the errors.
func missing(all []Program, others ...error) (missing []*MissingError) {
	for _, p := range all {
		_, err := p.Find()
		others = append(others, err)
	}
	for _, err := range others {
		if m, ok := errors.AsType[*MissingError](err); ok {
			missing = append(missing, m)
		}
	}
	return missing
}
