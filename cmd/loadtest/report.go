package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"orderstock/loadtest/history"
	"orderstock/loadtest/report"
	"orderstock/loadtest/tables"
	"orderstock/loadtest/verify"
	"orderstock/pkg/command"
)

// writeReport writes the report of a judged run.
func writeReport(
	ctx context.Context, file string, h *history.History, v *verify.Verdict, databases verify.Databases,
) error {
	record, err := tables.RecordOf(ctx, runOf(h), h, v, databases)
	if err != nil {
		return err
	}
	return record.Sheet().Save(file)
}

// runOf describes the run of a history, with what broke during it as far as that is known.
func runOf(h *history.History) tables.Run {
	run := tables.Run{
		ID: h.Run, At: h.Started.UTC(), Title: "orders fired", Seed: h.Seed,
		Command: "loadtest " + strings.Join(os.Args[1:], " "),
	}
	for _, a := range h.Acts {
		run.Faults = append(run.Faults, a.Cause)
	}
	if h.Disturbed {
		run.Faults = []string{"not known here (--disturbed)"}
	}
	return run
}

// asJSON says that a command prints its result as JSON, and the text to the standard error.
type asJSON struct {
	JSON bool `flag:"json" help:"print the result as JSON, and the text to the standard error"`
}

// text returns where the text goes.
func (j asJSON) text(cmd *cobra.Command) io.Writer {
	if j.JSON {
		return cmd.ErrOrStderr()
	}
	return cmd.OutOrStdout()
}

// print prints the result, if it is asked for as JSON.
func (j asJSON) print(cmd *cobra.Command, result any) error {
	if !j.JSON {
		return nil
	}
	if err := history.WriteJSON(cmd.OutOrStdout(), result); err != nil {
		return fmt.Errorf("print result: %w", err)
	}
	return nil
}

// resultFlags choose how a command gives its result: as text, as JSON, and as a page.
type resultFlags struct {
	asJSON
	Report string `flag:"report" help:"file for a report as one HTML page that needs no server"`
}

// judged is a result that describes itself, with an outcome.
type judged interface {
	Sheet() report.Sheet
	Outcome() verify.Outcome
}

// give prints and saves a result as far as there is one: err is why it is not complete. Its error has the exit code of
// the outcome.
func (g *resultFlags) give(cmd *cobra.Command, file string, result judged, err error) error {
	sheet := result.Sheet()
	if err != nil && result.Outcome() == verify.Pass {
		sheet.Word = strings.ToUpper(string(verify.Unknown)) // the rest is missing
	}
	err = errors.Join(err, sheet.Text(g.text(cmd)), g.save(cmd, file, result, sheet))
	if err != nil {
		return err
	}
	return exit(result.Outcome())
}

// save writes the result to the file, and its sheet as a report, with pictures, to the same folder; to none if file is
// "". With --json it prints the result, and with --report it writes the report there, too.
func (g *resultFlags) save(cmd *cobra.Command, file string, result any, sheet report.Sheet) error {
	err := g.print(cmd, result)
	if g.Report != "" {
		err = errors.Join(err, sheet.Save(g.Report))
	}
	if file == "" {
		return err
	}
	page := strings.TrimSuffix(file, filepath.Ext(file)) + ".html"
	err = errors.Join(err, history.SaveJSON(file, result), sheet.Save(page))
	pictures, drawn := sheet.Draw(filepath.Dir(file))
	if err = errors.Join(err, drawn); err != nil {
		return err
	}
	fmt.Fprintln(g.text(cmd), "written:", file, page, strings.Join(pictures, " "))
	return nil
}

// exit returns the exit code of an outcome other than pass as an error, which prints nothing.
func exit(o verify.Outcome) error {
	if o == verify.Pass {
		return nil
	}
	return &command.ExitError{Code: o.ExitCode()}
}
