package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"orderstock/loadtest/history"
	"orderstock/loadtest/system"
	"orderstock/loadtest/verify"
)

// keepEvidence writes the evidence of a failing run to a folder of out: the run with its seed and verdict, the clients'
// history and the books for "loadtest verify --evidence", the services' logs, and ZooKeeper's sessions with their
// nodes.
func keepEvidence(ctx context.Context, l *system.System, r *Result, out string) error {
	dir := filepath.Join(out, fmt.Sprintf("%s@%d", strings.ReplaceAll(r.Experiment, "/", "-"), r.Seed))
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("keep evidence: %w", err)
	}
	kept := &r.evidence
	if kept.Checks = r.checks; r.Outcome == verify.Unknown {
		kept.Unknown = r.Why
	}
	var errs []error
	if r.Verdict == nil {
		books, err := verify.Read(ctx, l.Databases())
		if errs = append(errs, err); err == nil {
			kept.Tables = *books
		}
	}
	errs = append(errs, history.SaveJSON(filepath.Join(dir, "run.json"), r),
		history.SaveJSON(filepath.Join(dir, "books.json"), kept))
	errs = append(errs, os.CopyFS(filepath.Join(dir, "logs"), os.DirFS(l.ServicesDir())))
	if r.History != nil {
		errs = append(errs, r.History.Save(filepath.Join(dir, "history.jsonl")))
	}
	if l.Cluster == nil {
		sessions, err := l.ZooKeeper.Command(ctx, "dump")
		errs = append(errs, err, os.WriteFile(filepath.Join(dir, "zookeeper.txt"), []byte(sessions), 0o644))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("keep evidence: %w", err)
	}
	return nil
}
