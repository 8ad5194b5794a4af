package zklock

import (
	"cmp"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// Token is a fencing token: each acquisition of a lock gets a greater one than all before it on
// that path. A store that remembers the greatest token it has seen, and refuses a write that
// carries a smaller one, is safe from a holder that was paused past its session and does not know
// yet that its lock is lost (Kleppmann, "How to do distributed locking", 2016).
//
// The zero value is below every token of an acquisition.
type Token struct {
	// Czxid is the ZooKeeper transaction that created the queue node. It rises in the order of the
	// queue and, unlike the node's sequence number, goes on rising if the parent is made again.
	Czxid int64
	// Local counts the grants within one process while it keeps that node.
	Local uint64
}

const tokenBytes = 16

var _, _ = driver.Valuer(Token{}), sql.Scanner((*Token)(nil))

// Compare returns -1 if t is older than u, 0 if they are the same, and 1 otherwise.
func (t Token) Compare(u Token) int {
	return cmp.Or(cmp.Compare(uint64(t.Czxid), uint64(u.Czxid)), cmp.Compare(t.Local, u.Local))
}

// Less reports whether t is older than u.
func (t Token) Less(u Token) bool { return t.Compare(u) < 0 }

// IsZero reports whether t is the zero Token, which no acquisition has.
func (t Token) IsZero() bool { return t == Token{} }

// Bytes returns the token's sixteen bytes, big-endian: they compare as the tokens do.
func (t Token) Bytes() [tokenBytes]byte {
	var b [tokenBytes]byte
	binary.BigEndian.PutUint64(b[:8], uint64(t.Czxid))
	binary.BigEndian.PutUint64(b[8:], t.Local)
	return b
}

// String returns the token as 32 hexadecimal digits: they, too, compare as the tokens do.
func (t Token) String() string {
	b := t.Bytes()
	return hex.EncodeToString(b[:])
}

// MarshalText returns String, so that tokens look the same in JSON and in logs.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads what MarshalText and String return.
func (t *Token) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	if err != nil {
		return fmt.Errorf("read token %q: %w", text, err)
	}
	return t.Scan(b)
}

// Value stores the token as its sixteen bytes, for a BINARY(16) column: the database compares them
// byte by byte, which is the order of the tokens. So one statement both checks and remembers them:
//
//	UPDATE stock SET num = num - ?, fencing_token = ? WHERE goods_id = ? AND fencing_token <= ?
//
// No row affected means that a newer holder has written: this one has lost the lock and must stop.
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
		if len(v) != tokenBytes {
			return fmt.Errorf("read token: %d bytes, want %d", len(v), tokenBytes)
		}
		t.Czxid, t.Local = int64(binary.BigEndian.Uint64(v[:8])), binary.BigEndian.Uint64(v[8:])
		return nil
	case string:
		return t.Scan([]byte(v))
	default:
		return fmt.Errorf("read token: it is a %T", src)
	}
}
