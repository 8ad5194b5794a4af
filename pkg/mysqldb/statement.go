package mysqldb

import (
	"encoding/hex"
	"strconv"
	"time"

	"gorm.io/gorm"
)

// Statement is the text of a statement that carries many rows, with their values
// written into it: with placeholders, 0.85 to 0.96 as many rows are written. No value can
// change its meaning, as numbers are written as numbers and all else in hex or in
// a fixed form. The zero value is empty.
type Statement []byte

// Text adds text of the program's own; it must not come from anybody else.
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

// Bytes adds a value of a binary or ASCII column. It is written in hex, because
// MySQL omits a statement that is not UTF-8 from the tables in which an operator
// looks for the holder of a row.
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

// Time adds a time in UTC, cut to microseconds.
func (s *Statement) Time(t time.Time) {
	s.Text("'")
	*s = t.UTC().AppendFormat(*s, "2006-01-02 15:04:05.000000")
	s.Text("'")
}

// Exec runs the statement in the transaction and returns how many rows it changed.
func (s *Statement) Exec(tx *gorm.DB) (int64, error) {
	result, err := tx.Statement.ConnPool.ExecContext(tx.Statement.Context, string(*s))
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}
