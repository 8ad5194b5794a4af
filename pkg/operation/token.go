package operation

import (
	"bytes"
	"encoding/hex"
	"fmt"
)

// Token is the fencing token of a lock holder. Of two holders of one lock, the later has the higher token, compared
// byte by byte. The zero token means that no lock is held.
type Token [16]byte

// IsZero reports whether the token is the zero token.
func (t Token) IsZero() bool { return t == Token{} }

// Less reports whether t belongs to an earlier holder than u.
func (t Token) Less(u Token) bool { return bytes.Compare(t[:], u[:]) < 0 }

// String returns the token in hex, which sorts as the token does, or "" for the zero token.
func (t Token) String() string {
	if t.IsZero() {
		return ""
	}
	return hex.EncodeToString(t[:])
}

// MarshalText implements encoding.TextMarshaler.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads the text of String.
func (t *Token) UnmarshalText(text []byte) error {
	*t = Token{}
	if len(text) == 0 {
		return nil
	}
	if n, err := hex.Decode(t[:], text[:min(len(text), 2*len(t))]); err != nil || n != len(t) || len(text) != 2*len(t) {
		return fmt.Errorf("fencing token %q: want 32 hex digits", text)
	}
	return nil
}
