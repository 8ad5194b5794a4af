package books

import (
	"context"
	"database/sql"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"orderstock/loadtest/judge/shell"
	"orderstock/loadtest/judge/shop"
)

// Reader reads the books of a shop. It is safe for concurrent use until it is closed.
type Reader struct {
	dir     string
	file    *shop.Books
	stock   map[string]shop.Pieces
	timeout time.Duration      // of the first connection to a database
	mu      sync.Mutex         // guards open
	open    map[string]*sql.DB // by DSN
}

// NewReader returns a Reader of the file's books. Commands run in the folder of the file.
func NewReader(f *shop.File) *Reader {
	return &Reader{
		dir: f.Dir, file: f.Books, stock: f.Stock, timeout: time.Duration(f.Timeout), open: map[string]*sql.DB{},
	}
}

// Close closes the connections.
func (r *Reader) Close() {
	for _, db := range r.open {
		_ = db.Close() // nothing is written
	}
}

// Versions returns the versions of the databases that were read. One that has no such function is left out.
func (r *Reader) Versions(ctx context.Context) (versions []string) {
	for _, dsn := range slices.Sorted(maps.Keys(r.open)) {
		var version string
		if r.open[dsn].QueryRowContext(ctx, "SELECT VERSION()").Scan(&version) == nil {
			versions = append(versions, version)
		}
	}
	return versions
}

// part is a query of the books.
type part struct {
	name string
	*shop.Query
}

// parts returns the queries, by where they are asked.
func (r *Reader) parts() (dsns []string, byDSN map[string][]part, commands []part) {
	byDSN = map[string][]part{}
	for _, p := range []part{{"stock", r.file.Stock}, {"orders", r.file.Orders}, {"deductions", r.file.Deductions}} {
		switch {
		case p.Query == nil:
		case p.Command != "":
			commands = append(commands, p)
		default:
			if byDSN[p.DSN] == nil {
				dsns = append(dsns, p.DSN)
			}
			byDSN[p.DSN] = append(byDSN[p.DSN], p)
		}
	}
	return dsns, byDSN, commands
}

// Read reads the books, all queries of one database from one snapshot.
func (r *Reader) Read(ctx context.Context, vars shop.Vars) (*Books, error) {
	b := &Books{}
	dsns, byDSN, commands := r.parts()
	for _, dsn := range dsns {
		read := r.snapshot
		if isRedis(dsn) {
			read = r.redis
		}
		if err := read(ctx, dsn, byDSN[dsn], vars, b); err != nil {
			return nil, fmt.Errorf("read the books: %w", err)
		}
	}
	for _, p := range commands {
		if err := r.command(ctx, p, vars, b); err != nil {
			return nil, fmt.Errorf("read the books: %w", err)
		}
	}
	b.sort()
	return b, nil
}

func (r *Reader) snapshot(ctx context.Context, dsn string, parts []part, vars shop.Vars, b *Books) error {
	db, err := r.database(ctx, dsn)
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return fmt.Errorf("%s: connect: %w", r.named(dsn), err)
	}
	defer func() { _ = tx.Rollback() }() // read-only
	for _, p := range parts {
		query, err := vars.Text(p.Query.Query)
		if err != nil {
			return err
		}
		t, err := rowsOf(ctx, tx, strings.TrimSuffix(strings.TrimSpace(query), ";"))
		if err == nil {
			err = b.take(p.name, t)
		} else {
			err = fmt.Errorf("the query of books.%s: %w", p.name, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func rowsOf(ctx context.Context, from interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}, query string,
) (*table, error) {
	rows, err := from.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	t := &table{}
	for _, name := range names {
		t.columns = append(t.columns, strings.ToLower(name))
	}
	cells, into := make([]any, len(names)), make([]any, len(names))
	for i := range cells {
		into[i] = &cells[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		texts := make([]string, len(cells))
		for i, cell := range cells {
			texts[i] = text(cell)
		}
		t.rows = append(t.rows, texts)
	}
	return t, rows.Err()
}

// database returns the database of a DSN, with a first connection made.
func (r *Reader) database(ctx context.Context, dsn string) (*sql.DB, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if db := r.open[dsn]; db != nil {
		return db, nil
	}
	expanded, err := shop.Vars{}.Text(dsn)
	if err != nil {
		return nil, err
	}
	db, err := open(expanded, r.dir, r.timeout)
	if err != nil {
		return nil, err
	}
	if err := r.connect(ctx, db); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", r.named(dsn), err), db.Close())
	}
	r.open[dsn] = db
	return db, nil
}

// named returns the field of the file that has a DSN.
func (r *Reader) named(dsn string) string {
	if r.file != nil && dsn == r.file.DSN {
		return "books.dsn"
	}
	return "dsn"
}

// connect makes the first connection. A server of another kind may say nothing at all, as it waits for the client.
func (r *Reader) connect(ctx context.Context, db *sql.DB) error {
	within, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	err := db.PingContext(within)
	var failed net.Error
	switch {
	case err == nil:
		return nil
	case ctx.Err() == nil && (within.Err() != nil || errors.As(err, &failed) && failed.Timeout()):
		return fmt.Errorf("connect: the database says nothing within %s: is it of the kind that dsn: names?", r.timeout)
	}
	return fmt.Errorf("connect: %w", err)
}

// Exec executes the statements of a step.
func (r *Reader) Exec(ctx context.Context, dsn string, statements []string) error {
	if isRedis(dsn) {
		for _, statement := range statements {
			if _, err := r.ask(ctx, dsn, statement); err != nil {
				return err
			}
		}
		return nil
	}
	db, err := r.database(ctx, dsn)
	if err != nil {
		return err
	}
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("sql %q: %w", statement, err)
		}
	}
	return nil
}

// Row executes a statement and returns its first row by the names of its columns, without the ones that are NULL; or an
// empty row. An answer of Redis is the column value.
func (r *Reader) Row(ctx context.Context, dsn, statement string) (map[string]string, error) {
	if isRedis(dsn) {
		answer, err := r.ask(ctx, dsn, statement)
		row := map[string]string{"value": text(answer)}
		if answer == nil {
			row = nil
		}
		return row, err
	}
	db, err := r.database(ctx, dsn)
	if err != nil {
		return nil, err
	}
	t, err := rowsOf(ctx, db, statement)
	if err != nil {
		return nil, fmt.Errorf("sql %q: %w", statement, err)
	}
	row := map[string]string{}
	for i, name := range t.columns {
		if len(t.rows) > 0 && t.rows[0][i] != shop.Null {
			row[name] = t.rows[0][i]
		}
	}
	return row, nil
}

// command gives the query to a command on its standard input, and reads CSV with a head from its output. An empty cell
// is NULL.
func (r *Reader) command(ctx context.Context, p part, vars shop.Vars, b *Books) error {
	query, err := vars.Text(p.Query.Query)
	if err != nil {
		return err
	}
	line, err := vars.Text(p.Command)
	if err != nil {
		return err
	}
	out, err := shell.Run(ctx, r.dir, line, query+"\n")
	if err != nil {
		return fmt.Errorf("the command of books.%s: %w", p.name, err)
	}
	records, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(out, "\ufeff"))).ReadAll()
	if err != nil {
		return fmt.Errorf("the command of books.%s: want CSV: %w", p.name, err)
	}
	if len(records) == 0 && p.name != "stock" { // some programs print no head without rows
		return b.take(p.name, &table{columns: []string{"id", "key", "product", "pieces", "state", "buyer"}})
	}
	if len(records) == 0 {
		return fmt.Errorf("the command of books.%s printed nothing: want CSV with a head", p.name)
	}
	t := &table{}
	for _, name := range records[0] {
		t.columns = append(t.columns, strings.ToLower(strings.TrimSpace(name)))
	}
	for _, cells := range records[1:] {
		for i := range cells {
			if cells[i] == "" {
				cells[i] = shop.Null
			}
		}
		t.rows = append(t.rows, cells)
	}
	return b.take(p.name, t)
}
