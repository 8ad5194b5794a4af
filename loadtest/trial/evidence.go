package trial

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"orderstock/loadtest/history"
	"orderstock/loadtest/system"
)

// keepEvidence writes the evidence of a failing run to a folder of out: the run with its seed and verdict, the clients'
// history, the services' logs, ZooKeeper's sessions with their nodes, and the contents of both databases.
func keepEvidence(ctx context.Context, l *system.System, r *Result, out string) error {
	dir := filepath.Join(out, fmt.Sprintf("%s@%d", strings.ReplaceAll(r.Experiment, "/", "-"), r.Seed))
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("keep evidence: %w", err)
	}
	errs := []error{history.SaveJSON(filepath.Join(dir, "run.json"), r)}
	errs = append(errs, os.CopyFS(filepath.Join(dir, "logs"), os.DirFS(l.ServicesDir())))
	if l.Cluster == nil {
		sessions, err := l.ZooKeeper.Command(ctx, "dump")
		errs = append(errs, err, os.WriteFile(filepath.Join(dir, "zookeeper.txt"), []byte(sessions), 0o644))
	}
	errs = append(errs,
		dump(ctx, l.OrderDB, filepath.Join(dir, "order_db.json"), "orders", "order_items"),
		dump(ctx, l.StockDB, filepath.Join(dir, "stock_db.json"), "stock", "operations", "stock_flow"))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("keep evidence: %w", err)
	}
	return nil
}

// dump writes every row of the tables to a file.
func dump(ctx context.Context, db *sql.DB, path string, tables ...string) error {
	all := map[string]any{}
	for _, table := range tables {
		rows, err := system.Rows(ctx, db, "SELECT * FROM "+table)
		if err != nil {
			return fmt.Errorf("dump %s: %w", table, err)
		}
		all[table] = rows
	}
	return history.SaveJSON(path, all)
}
