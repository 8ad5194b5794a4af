package stock

import (
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

// FenceAll is the fence of one lock for all products; nil for the zero token.
func FenceAll(token operation.Token) Fence {
	if token.IsZero() {
		return nil
	}
	return func(int64) operation.Token { return token }
}

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
