package stock

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// MaxItems bounds the items of one operation.
const MaxItems = 100

// Item is a quantity of one goods.
type Item struct {
	GoodsID int64
	Num     int64
}

// NewItems returns the items in the order of their goods, the order in which
// locks and rows are taken. It returns ErrInvalidItems, ErrInvalidGoodsID,
// ErrInvalidNum or ErrDuplicateGoods where they break a rule.
func NewItems(items []Item) ([]Item, error) {
	if len(items) == 0 || len(items) > MaxItems {
		return nil, fmt.Errorf("%w: not %d", ErrInvalidItems, len(items))
	}
	sorted := slices.Clone(items)
	slices.SortFunc(sorted, func(a, b Item) int { return cmp.Compare(a.GoodsID, b.GoodsID) })
	for i, item := range sorted {
		if item.GoodsID < 1 {
			return nil, fmt.Errorf("%w: not %d", ErrInvalidGoodsID, item.GoodsID)
		}
		if item.Num < 1 || item.Num > math.MaxInt32 {
			return nil, fmt.Errorf("%w: not %d of goods %d", ErrInvalidNum, item.Num, item.GoodsID)
		}
		if i > 0 && sorted[i-1].GoodsID == item.GoodsID {
			return nil, fmt.Errorf("%w: goods %d", ErrDuplicateGoods, item.GoodsID)
		}
	}
	return sorted, nil
}

// ParseGoodsID reads a goods id as it is written on the wire. It returns
// ErrInvalidGoodsID for any other spelling of the number.
func ParseGoodsID(s string) (int64, error) {
	id, err := strconv.ParseInt(s, 10, 64)
	if err != nil || id < 1 || s[0] == '0' || s[0] == '+' {
		return 0, ErrInvalidGoodsID
	}
	return id, nil
}

// FormatGoodsID writes a goods id for the wire.
func FormatGoodsID(id int64) string { return strconv.FormatInt(id, 10) }

// EncodeItems writes items as one string, "goods:num,goods:num". Items from
// NewItems have one such string, so that two operations with the same string are the same.
func EncodeItems(items []Item) string {
	b := make([]byte, 0, 24*len(items))
	for i, item := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, item.GoodsID, 10)
		b = append(b, ':')
		b = strconv.AppendInt(b, item.Num, 10)
	}
	return string(b)
}

// DecodeItems reads what EncodeItems wrote.
func DecodeItems(s string) ([]Item, error) {
	if s == "" {
		return nil, nil
	}
	items := make([]Item, 0, 1+strings.Count(s, ","))
	for part := range strings.SplitSeq(s, ",") {
		goods, num, ok := strings.Cut(part, ":")
		id, err1 := strconv.ParseInt(goods, 10, 64)
		n, err2 := strconv.ParseInt(num, 10, 64)
		if !ok || err1 != nil || err2 != nil {
			return nil, fmt.Errorf("read items %q: malformed", s)
		}
		items = append(items, Item{GoodsID: id, Num: n})
	}
	return items, nil
}
