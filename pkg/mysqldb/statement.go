package mysqldb

import (
	"context"
	"database/sql"
	"encoding/hex"
	"iter"
	"strconv"
	"time"

	"gorm.io/gorm"
)

// Statement is the text of a statement with many rows and their values inlined: placeholders write only 0.85 to 0.96 as
// many rows. No value can change its meaning, since numbers are written as numbers and everything else in hex or in a
// fixed form. The zero value is empty.
type Statement []byte

// Text adds trusted text of the program.
func (s *Statement) Text(text string) { *s = append(*s, text...) }

// Int adds a number.
func (s *Statement) Int(n int64) { *s = strconv.AppendInt(*s, n, 10) }

// Ints adds numbers with commas between them.
func (s *Statement) Ints(numbers []int64) {
	for i, n := range numbers {
		if i > 0 {
			s.Text(",")
		}
		s.Int(n)
	}
}

// Bytes adds a value of a binary or ASCII column. It is written in hex: MySQL omits a statement that is not UTF-8 from
// the tables that show operators who holds a row.
func (s *Statement) Bytes(b []byte) {
	s.Text("x'")
	*s = hex.AppendEncode(*s, b)
	s.Text("'")
}

// UTF8 adds a value of a UTF-8 column.
func (s *Statement) UTF8(text string) {
	s.Text("_utf8mb4 ")
	s.Bytes([]byte(text))
}

// Time adds a time in UTC, truncated to microseconds.
func (s *Statement) Time(t time.Time) {
	s.Text("'")
	*s = t.UTC().AppendFormat(*s, "2006-01-02 15:04:05.000000")
	s.Text("'")
}

// Exec runs the statement in the transaction and returns the number of rows changed.
func (s *Statement) Exec(tx *gorm.DB) (int64, error) {
	result, err := tx.Statement.ConnPool.ExecContext(tx.Statement.Context, string(*s))
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// MaxStatement bounds a statement that carries many values, in bytes. Servers refuse a longer one than their
// max_allowed_packet, and close the connection; ReadyCheck demands at least minPacket.
const (
	MaxStatement = 60 << 10
	minPacket    = 64 << 10
)

// Insert writes rows in as few statements as MaxStatement allows. It is for one goroutine.
type Insert struct {
	tx      *gorm.DB
	head    string
	text    Statement
	rows    int // in text
	changed int64
}

// NewInsert returns an insert in the transaction. Head is the statement up to its first row, such as
// "INSERT INTO t (a) VALUES ".
func NewInsert(tx *gorm.DB, head string) *Insert { return &Insert{tx: tx, head: head} }

// Row adds a row, whose values write adds with commas between them. A single row may be longer than MaxStatement.
func (i *Insert) Row(write func(s *Statement)) error {
	if i.rows == 0 {
		i.text = append(i.text[:0], i.head...)
	}
	end := len(i.text)
	if i.rows > 0 {
		i.text.Text(",")
	}
	begin := len(i.text)
	i.text.Text("(")
	write(&i.text)
	i.text.Text(")")
	if i.rows++; i.rows == 1 || len(i.text) <= MaxStatement {
		return nil
	}
	row := string(i.text[begin:])
	i.text = i.text[:end]
	if _, err := i.Exec(); err != nil {
		return err
	}
	i.text = append(append(i.text[:0], i.head...), row...)
	i.rows = 1
	return nil
}

// Exec writes the rows that are not written yet, and returns how many all rows have changed.
func (i *Insert) Exec() (changed int64, err error) {
	if i.rows == 0 {
		return i.changed, nil
	}
	i.rows = 0
	n, err := i.text.Exec(i.tx)
	i.changed += n
	return i.changed, err
}

// Lists cuts the values of an IN into lists so short that each fits into a statement.
func Lists[K int64 | string](values []K) iter.Seq[[]K] {
	return func(yield func([]K) bool) {
		for begin, end, size := 0, 0, 0; begin < len(values); begin, size = end, 0 {
			for ; end < len(values); end++ {
				length := 21 // the longest number, and a comma
				if text, ok := any(values[end]).(string); ok {
					length = 2*len(text) + 3 // each byte may be escaped
				}
				if size += length; size > MaxStatement/2 && end > begin {
					break
				}
			}
			if !yield(values[begin:end]) {
				return
			}
		}
	}
}

// Querier is a *sql.DB, a *sql.Conn or a *sql.Tx.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Rows runs a query when it is iterated over, and yields its rows. columns returns where the columns of a row go, as
// for sql.Rows.Scan. An error is the last that it yields. The connection is busy until the iteration ends.
func Rows[T any](
	ctx context.Context, db Querier, columns func(*T) []any, query string, args ...any,
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var row T
		rows, err := db.QueryContext(ctx, query, args...)
		if err != nil {
			yield(row, err)
			return
		}
		defer func() { _ = rows.Close() }() // read-only
		for to := columns(&row); rows.Next(); {
			if err := rows.Scan(to...); err != nil {
				yield(row, err)
				return
			}
			if !yield(row, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(row, err)
		}
	}
}

// All returns the rows that Rows yields.
func All[T any](ctx context.Context, db Querier, columns func(*T) []any, query string, args ...any) ([]T, error) {
	var all []T
	for row, err := range Rows(ctx, db, columns, query, args...) {
		if err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, nil
}

// One is the columns of a query with one column.
func One[T any](value *T) []any { return []any{value} }
