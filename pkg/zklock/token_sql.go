package zklock

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
)

var (
	_ driver.Valuer = Token{}
	_ sql.Scanner   = (*Token)(nil)
)

// Value stores the token as its sixteen bytes, for a BINARY(16) column: the database compares them
// byte by byte, which is the order of the tokens. So one statement both checks and remembers:
//
//	UPDATE stock SET num = num - ?, fencing_token = ? WHERE goods_id = ? AND fencing_token <= ?
//
// No row affected means a newer holder has written: this one has lost the lock and must stop.
func (t Token) Value() (driver.Value, error) {
	b := t.Bytes()
	return b[:], nil
}

// Scan reads a column that Value wrote. NULL reads as the zero token.
func (t *Token) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*t = Token{}
		return nil
	case []byte:
		token, err := tokenFrom(v)
		if err == nil {
			*t = token
		}
		return err
	case string:
		return t.Scan([]byte(v))
	default:
		return fmt.Errorf("scan token: cannot read a %T", src)
	}
}
