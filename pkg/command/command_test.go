package command_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/spf13/cobra"

	"orderstock/pkg/command"
	"orderstock/pkg/config"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	wrong := errors.New("two sold, one there")
	for name, test := range map[string]struct {
		args   []string
		err    error
		code   int
		stderr string
	}{
		"done": {args: []string{"check"}, code: command.Passed},
		"the check failed": {
			args: []string{"check"}, err: command.Fail(wrong), code: command.Failed,
			stderr: "shop: two sold, one there\n",
		},
		"it failed, with a context": {
			args: []string{"check"}, err: fmt.Errorf("check: %w", command.Fail(wrong)),
			code: command.Failed, stderr: "shop: check: two sold, one there\n",
		},
		"it failed, and more": {
			args: []string{"check"},
			err: errors.Join(errors.New("disk full"),
				command.Fail(wrong)), code: command.Failed, stderr: "shop: disk full\ntwo sold, one there\n",
		},
		"it failed and has said so, and more": {
			args: []string{"check"}, err: errors.Join(&command.ExitError{Code: command.Failed}, command.Fail(wrong)),
			code: command.Failed, stderr: "shop: two sold, one there\n",
		},
		"more, and it failed and has said so": {
			args: []string{"check"}, err: errors.Join(wrong, errors.Join(nil, &command.ExitError{Code: command.Failed})),
			code: command.Failed, stderr: "shop: two sold, one there\n",
		},
		"nothing failed":              {args: []string{"check"}, err: command.Fail(nil), code: command.Passed},
		"the code of another program": {args: []string{"check"}, err: &command.ExitError{Code: 7}, code: 7},
		"an error": {
			args: []string{"check"}, err: wrong, code: command.Unknown,
			stderr: "shop: two sold, one there\n",
		},
		"no number": {
			args: []string{"check", "--orders", "abc"}, code: command.Misused,
			stderr: "shop: invalid argument \"abc\" for \"--orders\" flag: want a whole number\n",
		},
		"no time": {
			args: []string{"check", "--wait", "5"}, code: command.Misused,
			stderr: "shop: invalid argument \"5\" for \"--wait\" flag: want a time such as 500ms, 30s or 2m\n",
		},
		"wrong usage": {
			args: []string{"check"}, err: command.Misuse(wrong), code: command.Misused,
			stderr: "shop: two sold, one there\n",
		},
		"a wrong setting": {
			args: []string{"check"}, err: fmt.Errorf("begin: %w", &config.EnvironmentError{Err: wrong}), code: command.Misused,
			stderr: "shop: begin: read the environment: two sold, one there\n",
		},
		"no command":        {code: command.Misused, stderr: "shop: no command given\n"},
		"help":              {args: []string{"--help"}, code: command.Passed},
		"version":           {args: []string{"--version"}, code: command.Passed},
		"help of a command": {args: []string{"check", "-h"}, code: command.Passed},
		"an unknown command": {
			args: []string{"chekc"}, code: command.Misused,
			stderr: "shop: unknown command \"chekc\" for \"shop\"\n\nDid you mean this?\n\tcheck\n\n",
		},
		"an unknown flag": {
			args: []string{"check", "--fast"}, code: command.Misused,
			stderr: "shop: unknown flag: --fast\n",
		},
		"an argument too many": {
			args: []string{"check", "it"}, code: command.Misused,
			stderr: "shop: unknown command \"it\" for \"shop check\"\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := &cobra.Command{Use: "shop"}
			check := &cobra.Command{
				Use: "check", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error { return test.err },
			}
			check.Flags().Int("orders", 1, "")
			check.Flags().Duration("wait", 0, "")
			root.AddCommand(check)
			var stdout, stderr bytes.Buffer
			root.SetOut(&stdout)
			root.SetErr(&stderr)
			root.SetArgs(append([]string{}, test.args...))
			if code := command.Run(t.Context(), root); code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			if stderr.String() != test.stderr {
				t.Errorf("printed %q, want %q", stderr.String(), test.stderr)
			}
		})
	}
}

// An interrupt is said in one word, beside what else went wrong, and leaves the result unknown.
func TestAnInterruptIsSaid(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  func(context.Context) error
		want string
	}{
		{func(ctx context.Context) error { return fmt.Errorf("start zookeeper: %w: many lines", ctx.Err()) }, ""},
		{
			func(ctx context.Context) error {
				return errors.Join(fmt.Errorf("start: %w", ctx.Err()), errors.New("disk full"))
			}, "disk full\n",
		},
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		cmd := &cobra.Command{Use: "shop", RunE: func(cmd *cobra.Command, _ []string) error {
			interrupt()
			return test.err(cmd.Context())
		}}
		var stderr bytes.Buffer
		cmd.SetErr(&stderr)
		cmd.SetArgs([]string{})
		if code := command.Run(ctx, cmd); code != command.Unknown || stderr.String() != "shop: interrupted\n"+test.want {
			t.Errorf("exit code %d, printed %q", code, &stderr)
		}
	}
}
