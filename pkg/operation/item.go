package operation

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// MaxItems is the maximum number of items in one operation.
	MaxItems = 100
	// MaxNum is the maximum quantity of one item.
	MaxNum = math.MaxInt32
)

// Item is a quantity of one product.
type Item struct {
	GoodsID int64 `json:"goods_id,string"`
	Num     int64 `json:"num"`
}

// UnmarshalJSONFrom reads an item of a request. A string that is no goods id becomes 0, and a value of num that is no
// integer becomes -1, which NewItems refuses.
func (i *Item) UnmarshalJSONFrom(from *jsontext.Decoder) error {
	var sent struct {
		GoodsID string         `json:"goods_id"`
		Num     jsontext.Value `json:"num"`
	}
	if err := json.UnmarshalDecode(from, &sent); err != nil {
		return err
	}
	i.GoodsID, _ = ParseID(sent.GoodsID)
	if num, err := strconv.ParseInt(string(sent.Num), 10, 64); err == nil {
		i.Num = num
	} else {
		i.Num = -1
	}
	return nil
}

// NewItems returns a copy of the items by ascending goods id, the order for locking and writing rows. It returns
// ErrInvalidItems, ErrInvalidGoodsID, ErrInvalidNum or ErrDuplicateGoods if the items break a rule.
func NewItems(items []Item) ([]Item, error) {
	if len(items) == 0 || len(items) > MaxItems {
		return nil, fmt.Errorf("%w, not %d", ErrInvalidItems, len(items))
	}
	sorted := slices.Clone(items)
	slices.SortFunc(sorted, func(a, b Item) int { return cmp.Compare(a.GoodsID, b.GoodsID) })
	for i, item := range sorted {
		if item.GoodsID < 1 {
			return nil, ErrInvalidGoodsID
		}
		if item.Num < 1 || item.Num > MaxNum {
			return nil, fmt.Errorf("%w: product %d", ErrInvalidNum, item.GoodsID) // Num may be a -1 that nobody sent
		}
		if i > 0 && sorted[i-1].GoodsID == item.GoodsID {
			return nil, fmt.Errorf("%w: product %d", ErrDuplicateGoods, item.GoodsID)
		}
	}
	return sorted, nil
}

// EncodeItems writes items as one string, "goods:num,goods:num". Items from NewItems have exactly one such
// string, so two operations with the same string are the same.
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

// DecodeItems reads a string that EncodeItems wrote.
func DecodeItems(s string) ([]Item, error) {
	if s == "" {
		return []Item{}, nil
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

// ParseGoodsID reads a goods id in the form of FormatGoodsID. It returns ErrInvalidGoodsID for any other spelling of
// the number.
func ParseGoodsID(s string) (int64, error) {
	id, ok := ParseID(s)
	if !ok {
		return 0, ErrInvalidGoodsID
	}
	return id, nil
}

// ParseID reads the id of an order or a product in its only valid form: decimal, at least 1, without leading zeros or a
// sign. It reports whether s is one.
func ParseID(s string) (id int64, ok bool) {
	id, err := strconv.ParseInt(s, 10, 64)
	if err != nil || id < 1 || s[0] == '0' || s[0] == '+' {
		return 0, false
	}
	return id, true
}

// FormatGoodsID writes a goods id for URLs, bodies and lock names.
func FormatGoodsID(id int64) string { return strconv.FormatInt(id, 10) }

// Partitions is the default number of partitions of the stock: one lock for all. A group serves all waiting requests,
// so one lock does not make products wait for each other's commits.
const Partitions = 1

// Partition returns the partition of a product, from 0 to n-1: the xxHash64 of the id in decimal, modulo n. Ids at any
// regular distance spread evenly.
func Partition(goodsID int64, n int) int {
	return int(xxhash.Sum64String(FormatGoodsID(goodsID)) % uint64(n))
}

// PartitionOf returns the partition that all items share, and false if there is none.
func PartitionOf(items []Item, n int) (partition int, one bool) {
	for i, item := range items {
		p := Partition(item.GoodsID, n)
		if i > 0 && p != partition {
			return 0, false
		}
		partition = p
	}
	return partition, len(items) > 0
}
