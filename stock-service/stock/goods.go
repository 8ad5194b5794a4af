package stock

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"orderstock/pkg/operation"
)

// MaxLevel is the maximum level and the maximum price: 2^53-1, which every JSON reader holds exactly.
const MaxLevel = 1<<53 - 1

// Goods is a product: its price in minor units of the currency, and its level.
type Goods struct {
	ID    int64
	Name  string
	Price int64
	Num   int64
}

// Flow is an entry of the ledger. The level of a product is always the sum of the Num of its entries.
type Flow struct {
	Flag      string
	GoodsID   int64
	Kind      operation.Kind
	Num       int64
	CreatedAt time.Time
}

// Restock adds pieces of one product, once under its flag, and creates the product if it is new. Name and Price replace
// the product's unless they are nil.
type Restock struct {
	Flag    string
	GoodsID int64
	Num     int64
	Name    *string
	Price   *int64
}

// Validate returns ErrInvalidFlag, operation.ErrInvalidGoodsID, operation.ErrInvalidNum, ErrInvalidName or
// ErrInvalidPrice if the restock breaks a rule.
func (r Restock) Validate() error {
	switch {
	case !validFlag(r.Flag):
		return ErrInvalidFlag
	case r.GoodsID < 1:
		return operation.ErrInvalidGoodsID
	case r.Num < 1 || r.Num > operation.MaxNum:
		return fmt.Errorf("%w: not %d", operation.ErrInvalidNum, r.Num)
	case r.Name != nil && !validName(*r.Name):
		return ErrInvalidName
	case r.Price != nil && (*r.Price < 0 || *r.Price > MaxLevel):
		return fmt.Errorf("%w: not %d", ErrInvalidPrice, *r.Price)
	}
	return nil
}

// validName reports whether s can be a product's name: at most 100 characters, no control characters, and no U+FFFD,
// the replacement for undecodable bytes.
func validName(s string) bool {
	return utf8.ValidString(s) && utf8.RuneCountInString(s) <= 100 &&
		!strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError })
}

// validFlag reports whether s can be an operation flag.
func validFlag(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}
