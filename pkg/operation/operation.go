// Package operation holds the terms shared by the order service and the stock service: operations, their items and
// rules, and the codes of failures. Both domains import it, and the API of package stockapi carries it. It does no I/O.
//
// In JSON, ids and flags are strings, so that no reader rounds a 64-bit number. Quantities are whole pieces. Prices are
// in minor units of the currency.
package operation

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"time"
)

// Operation is the record under a flag: the answer to a deduction, to its repeats and to a cancellation.
type Operation struct {
	Flag   string `json:"flag"`
	State  State  `json:"state"`
	Reason string `json:"reason"`
	// Items are sorted by ascending goods id; there are none if the flag was cancelled first.
	Items []Item `json:"items"`
	// Token is the token of the lock holder that wrote the outcome; zero if no lock was held.
	Token Token `json:"fencing_token"`
	// Repeat is true if the outcome was there before this call.
	Repeat bool `json:"repeat"`
}

// Answer returns the operation as the answer to a repeat with these items. It returns ErrFlagConflict if the flag was
// used for other items; a flag that was cancelled first has none to compare.
func (o Operation) Answer(items []Item) (Operation, error) {
	if o.State != Cancelled && !slices.Equal(o.Items, items) {
		return Operation{}, fmt.Errorf("%w: flag %s has other items", ErrFlagConflict, o.Flag)
	}
	o.Repeat = true
	return o, nil
}

// locked reports whether the call that returned the operation locked the rows of its items.
func (o Operation) locked() bool { return o.State != "" && o.State != Cancelled && !o.Repeat }

// State is the final state of an operation.
type State string

const (
	// Done: every item was deducted.
	Done State = "DONE"
	// Rejected: the stock of an item was short. Nothing was deducted, and nothing will ever be deducted under this flag.
	Rejected State = "REJECTED"
	// Cancelled: the flag was cancelled before anything was deducted. A late deduction does nothing.
	Cancelled State = "CANCELLED"
	// Restored: the items were deducted and then returned, once.
	Restored State = "RESTORED"
)

// Kind is the cause of a flow row.
type Kind string

// The kinds of flow rows.
const (
	KindRestock Kind = "restock"
	KindDeduct  Kind = "deduct"
	KindRestore Kind = "restore"
)

// Flow is an entry of the ledger; Num is signed. The level of a product is always the sum of the Num of its entries.
type Flow struct {
	Flag      string    `json:"flag"`
	GoodsID   int64     `json:"goods_id,string"`
	Kind      Kind      `json:"kind"`
	Num       int64     `json:"num"`
	CreatedAt time.Time `json:"created_at"`
}

// Goods is a product: its price in minor units of the currency, and its level.
type Goods struct {
	GoodsID int64  `json:"goods_id,string"`
	Name    string `json:"name"`
	Price   int64  `json:"price"`
	Num     int64  `json:"num"`
}

// Restock adds pieces of one product, once under its flag, and creates the product if it is new. Name and Price replace
// the product's unless they are nil. A new product has no name and the price 0 by default.
type Restock struct {
	Flag    string  `json:"flag"`
	GoodsID int64   `json:"-"` // the path of the request names it
	Num     int64   `json:"num"`
	Name    *string `json:"name,omitempty"`
	Price   *int64  `json:"price,omitempty"`
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
