package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"orderstock/loadtest/console"
	"orderstock/loadtest/history"
	"orderstock/loadtest/verify"
)

// writeReport writes the report of a judged run.
func writeReport(
	ctx context.Context, file string, h *history.History, v *verify.Verdict, databases verify.Databases,
) error {
	record, err := console.RecordOf(ctx, h, v, databases, "loadtest "+strings.Join(os.Args[1:], " "))
	if err != nil {
		return err
	}
	return intoFile(file, func(w io.Writer) error { return console.WriteReport(w, record) })
}

// intoFile creates a file, and its folder, and fills it with write.
func intoFile(file string, write func(io.Writer) error) (err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return write(f)
}
