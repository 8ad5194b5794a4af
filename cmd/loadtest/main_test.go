package main

import (
	"os"
	"testing"
)

// asCommand is the variable that makes the test's binary run as the program.
const asCommand = "LOADTEST_TEST_AS_COMMAND"

// TestMain runs the command itself in place of the tests if a test asks for it.
func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}
