package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// "loadtest judge" is the program judge, with its arguments, its output and its exit code.
func TestJudgeIsItsOwnProgram(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "judge", "none.yaml", "--phase", "alone")
	cmd.Env = append(os.Environ(), asCommand+"=1")
	out, err := cmd.CombinedOutput()
	const want = "judge: read the file: open none.yaml"
	const badFile = 65
	if err == nil || cmd.ProcessState.ExitCode() != badFile || !strings.Contains(string(out), want) {
		t.Errorf("exit code %d, %s", cmd.ProcessState.ExitCode(), out)
	}
	help, exit := execute(t, "judge", "--help")
	if exit != 0 || !strings.Contains(help, "alone     one client after another") {
		t.Errorf("the help, with exit code %d: %s", exit, help)
	}
}
