package main

import (
	"testing"

	"orderstock/pkg/command/commandtest"
)

func TestDocumentedCommandLines(t *testing.T) {
	t.Parallel()
	commandtest.Check(t, "../..", newCommand)
}
