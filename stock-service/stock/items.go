package stock

import (
	"fmt"
	"strconv"
	"strings"

	"orderstock/pkg/operation"
)

// EncodeItems writes items as one string, "goods:num,goods:num". Items from operation.NewItems have exactly one such
// string, so two operations with the same string are the same.
func EncodeItems(items []operation.Item) string {
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
func DecodeItems(s string) ([]operation.Item, error) {
	if s == "" {
		return []operation.Item{}, nil
	}
	items := make([]operation.Item, 0, 1+strings.Count(s, ","))
	for part := range strings.SplitSeq(s, ",") {
		goods, num, ok := strings.Cut(part, ":")
		id, err1 := strconv.ParseInt(goods, 10, 64)
		n, err2 := strconv.ParseInt(num, 10, 64)
		if !ok || err1 != nil || err2 != nil {
			return nil, fmt.Errorf("read items %q: malformed", s)
		}
		items = append(items, operation.Item{GoodsID: id, Num: n})
	}
	return items, nil
}
