package system

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// EnvTestBin names the folder of both services' binaries for a run of tests. "bin/dev test" sets it, so that they are
// linked only once.
const EnvTestBin = "ORDERSTOCK_TEST_BIN"

// ModuleRoot returns the folder of the go.mod file at or above the working directory.
func ModuleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("find the module: no go.mod here or above; run this inside the repository")
		}
		dir = parent
	}
}
