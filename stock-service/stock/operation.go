package stock

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"orderstock/pkg/observe"
	"orderstock/pkg/operation"
)

// Request is a deduction to execute: a valid flag, and items from operation.NewItems.
type Request struct {
	Flag  string
	Items []operation.Item
}

// ShortReason returns the reason of an operation that was rejected because the level of a product was too low.
func ShortReason(goodsID int64) string {
	return "insufficient_stock: goods " + operation.FormatGoodsID(goodsID)
}

// Fence returns the fencing token for writes of a product. A nil Fence means no lock: no token is written, and none is
// compared.
type Fence func(goodsID int64) operation.Token

// Highest returns the highest token of the items, the token of an operation. It is zero if an item has none: then the
// operation did not hold all of its locks.
func (f Fence) Highest(items []operation.Item) operation.Token {
	var highest operation.Token
	if f == nil {
		return highest
	}
	for _, item := range items {
		token := f(item.GoodsID)
		if token.IsZero() {
			return operation.Token{}
		}
		if highest.Less(token) {
			highest = token
		}
	}
	return highest
}

// MaxLevel is the maximum level and the maximum price: 2^53-1, which every JSON reader holds exactly.
const MaxLevel = 1<<53 - 1

// validate returns operation.ErrInvalidFlag, ErrInvalidGoodsID, ErrInvalidNum, operation.ErrInvalidName or
// operation.ErrInvalidPrice if the restock breaks a rule.
func validate(r operation.Restock) error {
	switch {
	case !observe.ValidID(r.Flag):
		return operation.ErrInvalidFlag
	case r.GoodsID < 1:
		return operation.ErrInvalidGoodsID
	case r.Num < 1 || r.Num > operation.MaxNum:
		return operation.ErrInvalidNum
	case r.Name != nil && !validName(*r.Name):
		return operation.ErrInvalidName
	case r.Price != nil && (*r.Price < 0 || *r.Price > MaxLevel):
		return fmt.Errorf("%w: not %d", operation.ErrInvalidPrice, *r.Price)
	}
	return nil
}

// validName reports whether s can be a product's name: at most 100 characters, no control characters, and no U+FFFD,
// the replacement for undecodable bytes.
func validName(s string) bool {
	return utf8.ValidString(s) && utf8.RuneCountInString(s) <= 100 &&
		!strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError })
}
