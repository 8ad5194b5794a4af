package main

import (
	"strings"
	"testing"

	"orderstock/pkg/command"
)

func TestTokenIsPrintedAlone(t *testing.T) {
	t.Setenv("SERVICE_TOKEN", "sesame")
	if out, exit := execute(t, "token"); out != "sesame\n" || exit != command.Passed {
		t.Errorf("printed %q with exit code %d", out, exit)
	}
	t.Setenv("SERVICE_TOKEN", "")
	if out, exit := printed(t, "token"); exit == command.Passed || !strings.Contains(out, "SERVICE_TOKEN_FILE") {
		t.Errorf("without a token: printed %q with exit code %d", out, exit)
	}
}
