package system

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
)

// Rows returns the rows of a query, each by the names of its columns. Binary columns are in hex.
func Rows(ctx context.Context, db *sql.DB, query string, args ...any) ([]map[string]any, error) {
	found, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read rows: %w", err)
	}
	defer func() { _ = found.Close() }() // only read
	columns, err := found.ColumnTypes()
	if err != nil {
		return nil, fmt.Errorf("read rows: %w", err)
	}
	all := []map[string]any{}
	for found.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := found.Scan(into...); err != nil {
			return nil, fmt.Errorf("read rows: %w", err)
		}
		of := make(map[string]any, len(columns))
		for i, column := range columns {
			if text, ok := values[i].([]byte); ok {
				if values[i] = string(text); column.DatabaseTypeName() == "BINARY" {
					values[i] = hex.EncodeToString(text)
				}
			}
			of[column.Name()] = values[i]
		}
		all = append(all, of)
	}
	return all, found.Err()
}
