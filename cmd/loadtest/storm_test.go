package main

import (
	"io"
	"strings"
	"testing"
)

// TestStormRefuses settings that make no sense, and a stack that is not up, with advice.
func TestStormRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"a negative number of faults": {[]string{"--random", "-1"}, `"-1" for "--random" flag: want 0 to 10000`},
		"too many orders":             {[]string{"--orders", "1000001"}, `for "--orders" flag: want 0 to 1000000`},
		"no stack":                    {[]string{"--compose", "true"}, "the stack is not up: run"},
	} {
		cmd := newCommand(io.Discard, io.Discard)
		cmd.SetArgs(append([]string{"run", "storm"}, c.args...))
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
