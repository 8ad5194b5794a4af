package stock

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"

	"orderstock/pkg/operation"
)

// Request is an operation to be carried out: a valid flag, and items from operation.NewItems.
type Request struct {
	Flag  string
	Items []operation.Item
}

// Operation is the outcome recorded under a flag.
type Operation struct {
	Flag   string
	State  operation.State
	Reason string
	// Items by rising goods id; none where a cancellation came first.
	Items []operation.Item
	// Token is that of the lock's holder; zero where no lock was held.
	Token Token
	// Repeat is true where the outcome was there before this call.
	Repeat bool
}

// Answer returns the recorded outcome as the answer to a repeat with these
// items, or ErrFlagConflict where the flag was used for others. A cancellation
// that came first answers whatever items come late.
func (o Operation) Answer(items []operation.Item) (Operation, error) {
	if o.State != operation.Cancelled && !slices.Equal(o.Items, items) {
		return Operation{}, fmt.Errorf("%w: flag %s has other items", ErrFlagConflict, o.Flag)
	}
	o.Repeat = true
	return o, nil
}

// ShortReason is the reason of an operation that was rejected for too little of the goods.
func ShortReason(goodsID int64) string {
	return "insufficient_stock: goods " + operation.FormatGoodsID(goodsID)
}

// Token is the fencing token of a lock's holder: of two holders of one lock,
// the later has the higher token, compared byte by byte. The zero token stands
// for no lock.
type Token [16]byte

// IsZero reports whether the token stands for no lock.
func (t Token) IsZero() bool { return t == Token{} }

// Less reports whether t is of an earlier holder than u.
func (t Token) Less(u Token) bool { return bytes.Compare(t[:], u[:]) < 0 }

// String returns the token in hex, which sorts as the token does, or "" for the zero token.
func (t Token) String() string {
	if t.IsZero() {
		return ""
	}
	return hex.EncodeToString(t[:])
}

// Fence tells the fencing token under which goods may be written. A nil Fence
// stands for work without a lock: no token is written, and none is compared.
type Fence func(goodsID int64) Token

// FenceAll is the fence of one lock for all goods.
func FenceAll(token Token) Fence { return func(int64) Token { return token } }

// Highest returns the highest token for the items, or the zero token without a lock.
func (f Fence) Highest(items []operation.Item) Token {
	var highest Token
	if f == nil {
		return highest
	}
	for _, item := range items {
		if token := f(item.GoodsID); highest.Less(token) {
			highest = token
		}
	}
	return highest
}
