package main

import (
	"io"
	"testing"

	"github.com/spf13/cobra"

	"orderstock/pkg/command/commandtest"
)

func TestDocumentedCommandLines(t *testing.T) {
	t.Parallel()
	commandtest.Check(t, "../..", func() *cobra.Command { return newCommand(io.Discard) })
}
