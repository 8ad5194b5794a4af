package servers

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// MissingError says that a program is not installed, and what would install it.
type MissingError struct {
	// Program is what was looked for.
	Program string
	// Packages are the Debian packages that hold it.
	Packages []string
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s is not installed; on Debian or Ubuntu: apt-get install %s; elsewhere install it and put it on the PATH",
		e.Program, strings.Join(e.Packages, " "))
}

// Missing returns what the servers of this package need and do not find on
// this machine; nil where nothing is missing.
func Missing() []*MissingError {
	var missing []*MissingError
	for _, find := range []func() error{
		func() error { _, err := mysqlPrograms(); return err },
		func() error { _, err := redisProgram(); return err },
		func() error { _, _, err := zookeeperProgram(); return err },
	} {
		if m, ok := errors.AsType[*MissingError](find()); ok {
			missing = append(missing, m)
		}
	}
	return missing
}

// program returns the path of the first of names that is installed. Debian
// keeps servers in /usr/sbin, which is not on every user's PATH.
func program(packages []string, names ...string) (string, error) {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
		for _, dir := range []string{"/usr/sbin", "/usr/local/sbin"} {
			path := filepath.Join(dir, name)
			if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
				return path, nil
			}
		}
	}
	return "", &MissingError{Program: strings.Join(names, " or "), Packages: packages}
}
