package trial

import (
	"bytes"
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
		dump(ctx, l.OrderDB, filepath.Join(dir, "order_db.tsv"), "orders", "order_items"),
		dump(ctx, l.StockDB, filepath.Join(dir, "stock_db.tsv"), "stock", "operations", "stock_flow"))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("keep evidence: %w", err)
	}
	return nil
}

// dump writes every row of the tables to a file, one per line, binary columns in hex.
func dump(ctx context.Context, db *sql.DB, path string, tables ...string) error {
	var text bytes.Buffer
	for _, table := range tables {
		if err := dumpTable(ctx, db, &text, table); err != nil {
			return fmt.Errorf("dump %s: %w", table, err)
		}
	}
	return os.WriteFile(path, text.Bytes(), 0o644)
}

func dumpTable(ctx context.Context, db *sql.DB, w *bytes.Buffer, table string) error {
	rows, err := db.QueryContext(ctx, "SELECT * FROM "+table) //nolint:gosec // one of four names
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.ColumnTypes()
	if err != nil {
		return err
	}
	values := make([]sql.RawBytes, len(columns))
	into := make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
		fmt.Fprintf(w, "%s.%s\t", table, columns[i].Name())
	}
	fmt.Fprintln(w)
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for i, v := range values {
			if columns[i].DatabaseTypeName() == "BINARY" {
				fmt.Fprintf(w, "%x\t", v)
			} else {
				fmt.Fprintf(w, "%s\t", v)
			}
		}
		fmt.Fprintln(w)
	}
	return rows.Err()
}
