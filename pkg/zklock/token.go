package zklock

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// Token is a fencing token: each acquisition of a lock gets a greater one than all before it on
// that path. A store that remembers the greatest token it has seen, and refuses a write that
// carries a smaller one, is safe from a holder that was paused past its session and does not know
// yet that it holds nothing (Kleppmann, "How to do distributed locking", 2016).
//
// The zero value is below every token of an acquisition.
type Token struct {
	// Czxid is the ZooKeeper transaction that created the lock's node. It rises in the order of the
	// queue and, unlike the node's sequence number, goes on rising when the parent is made anew.
	Czxid int64
	// Local counts the hand-overs within one process while it keeps that node.
	Local uint64
}

const tokenBytes = 16

// Compare returns -1 where t is older than u, 0 where they are the same, and 1 otherwise.
func (t Token) Compare(u Token) int {
	return cmp.Or(cmp.Compare(uint64(t.Czxid), uint64(u.Czxid)), cmp.Compare(t.Local, u.Local))
}

// Less says that t is older than u.
func (t Token) Less(u Token) bool { return t.Compare(u) < 0 }

// IsZero says that t is of no acquisition.
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

// ParseToken reads what String returns.
func ParseToken(s string) (Token, error) {
	b, err := hex.DecodeString(s)
	if err != nil {
		return Token{}, fmt.Errorf("parse token %q: %w", s, err)
	}
	return tokenFrom(b)
}

// MarshalText returns String: so tokens look the same in JSON and in logs.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads what MarshalText returns.
func (t *Token) UnmarshalText(text []byte) error {
	token, err := ParseToken(string(text))
	if err == nil {
		*t = token
	}
	return err
}

func tokenFrom(b []byte) (Token, error) {
	if len(b) != tokenBytes {
		return Token{}, fmt.Errorf("parse token: %d bytes, want %d", len(b), tokenBytes)
	}
	return Token{
		Czxid: int64(binary.BigEndian.Uint64(b[:8])),
		Local: binary.BigEndian.Uint64(b[8:]),
	}, nil
}
