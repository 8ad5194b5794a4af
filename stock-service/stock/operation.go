package stock

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"

	"orderstock/pkg/operation"
)

// Request is a deduction to execute: a valid flag, and items from operation.NewItems.
type Request struct {
	Flag  string
	Items []operation.Item
}

// Operation is the record under a flag.
type Operation struct {
	Flag   string
	State  operation.State
	Reason string
	// Items are sorted by ascending goods id; there are none if the flag was cancelled first.
	Items []operation.Item
	// Token is the token of the lock holder that wrote it; zero if no lock was held.
	Token Token
	// Repeat is true if the outcome was there before this call.
	Repeat bool
}

// Answer returns the operation as the answer to a repeat with these items. It returns ErrFlagConflict if the flag was
// used for other items; a flag that was cancelled first has none to compare.
func (o Operation) Answer(items []operation.Item) (Operation, error) {
	if o.State != operation.Cancelled && !slices.Equal(o.Items, items) {
		return Operation{}, fmt.Errorf("%w: flag %s has other items", ErrFlagConflict, o.Flag)
	}
	o.Repeat = true
	return o, nil
}

// ShortReason returns the reason of an operation that was rejected because the level of a product was too low.
func ShortReason(goodsID int64) string {
	return "insufficient_stock: goods " + operation.FormatGoodsID(goodsID)
}

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

// Fence returns the fencing token for writes of a product. A nil Fence means no lock: no token is written, and none is
// compared.
type Fence func(goodsID int64) Token

// FenceAll is the fence of one lock for all products; nil for the zero token.
func FenceAll(token Token) Fence {
	if token.IsZero() {
		return nil
	}
	return func(int64) Token { return token }
}

// Highest returns the highest token of the items, the token of an operation. It is zero if an item has none: then the
// operation did not hold all of its locks.
func (f Fence) Highest(items []operation.Item) Token {
	var highest Token
	if f == nil {
		return highest
	}
	for _, item := range items {
		token := f(item.GoodsID)
		if token.IsZero() {
			return Token{}
		}
		if highest.Less(token) {
			highest = token
		}
	}
	return highest
}
