package mysqldb

import (
	"context"
	"database/sql"
	"encoding/hex"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"
)

// Statement is the text of a statement with many rows and their values inlined: placeholders write only 0.85 to 0.96 as
// many rows. The zero value is empty.
type Statement []byte

// Raw is trusted text of the program, which becomes part of a Statement as it is.
type Raw string

// Add adds text and values to the statement. No value can change its meaning, since numbers are written as numbers and
// everything else in hex or in a fixed form. A value is
//
//   - an int64, or several as []int64, with commas between them,
//   - []byte, for a binary or ASCII column. MySQL omits a statement that is not UTF-8 from the tables that show
//     operators who holds a row, so it is written in hex,
//   - a string, for a UTF-8 column,
//   - a time.Time, written in UTC and truncated to microseconds,
//   - nil, which is NULL.
//
// It panics if the type is another one.
func (s *Statement) Add(parts ...any) {
	for _, part := range parts {
		switch part := part.(type) {
		case Raw:
			*s = append(*s, part...)
		case int64:
			*s = strconv.AppendInt(*s, part, 10)
		case []int64:
			for i, n := range part {
				if i > 0 {
					*s = append(*s, ',')
				}
				*s = strconv.AppendInt(*s, n, 10)
			}
		case []byte:
			*s = append(hex.AppendEncode(append(*s, "x'"...), part), '\'')
		case string:
			*s = append(hex.AppendEncode(append(*s, "_utf8mb4 x'"...), []byte(part)), '\'')
		case time.Time:
			*s = part.UTC().AppendFormat(*s, "'2006-01-02 15:04:05.000000'")
		case nil:
			*s = append(*s, "NULL"...)
		default:
			panic("add to a statement: " + reflect.TypeOf(part).String()) // fmt would move every part to the heap
		}
	}
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

// firstSize is enough for most inserts, in bytes, so that they are not copied while they grow.
const firstSize = 8 << 10

// Insert writes rows in as few statements as MaxStatement allows. It is for one goroutine.
type Insert struct {
	tx      *gorm.DB
	head    string
	text    Statement
	rows    int // in text
	changed int64
	err     error
}

// NewInsert returns an insert in the transaction. Head is the statement up to its first row, such as
// "INSERT INTO t (a) VALUES ".
func NewInsert(tx *gorm.DB, head string) *Insert { return &Insert{tx: tx, head: head} }

// Row adds a row of these values, each as for Statement.Add. A single row may be longer than MaxStatement. After an
// error, which Exec returns, Row does nothing.
func (i *Insert) Row(values ...any) {
	if i.rows == 0 {
		i.text = append(slices.Grow(i.text[:0], firstSize), i.head...)
	}
	end := len(i.text)
	for n, value := range values {
		separator := Raw(",")
		if n == 0 && i.rows == 0 {
			separator = "("
		} else if n == 0 {
			separator = ",("
		}
		i.text.Add(separator, value)
	}
	i.text.Add(Raw(")"))
	if i.rows++; i.rows == 1 || len(i.text) <= MaxStatement {
		return
	}
	row := string(i.text[end+1:]) // without the comma
	i.text = i.text[:end]
	i.write()
	i.text = append(append(i.text[:0], i.head...), row...)
	i.rows = 1
}

// Exec writes the rows that are not written yet, and returns how many all rows have changed.
func (i *Insert) Exec() (changed int64, err error) {
	if i.rows > 0 {
		i.write()
	}
	return i.changed, i.err
}

func (i *Insert) write() {
	i.rows = 0
	if i.err == nil {
		var n int64
		n, i.err = i.text.Exec(i.tx)
		i.changed += n
	}
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

// RowsIn is Rows for a query with one placeholder, "IN ?", which stands for the values. It runs a statement for each of
// their Lists.
func RowsIn[T any, K int64 | string](
	db *gorm.DB, columns func(*T) []any, query string, values []K,
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for values := range Lists(values) {
			args := make([]any, len(values))
			for i, value := range values {
				args[i] = value
			}
			list := strings.Replace(query, "?", "(?"+strings.Repeat(",?", len(values)-1)+")", 1)
			for row, err := range Rows(db.Statement.Context, db.Statement.ConnPool, columns, list, args...) {
				if !yield(row, err) || err != nil {
					return
				}
			}
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
