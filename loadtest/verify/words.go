package verify

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"orderstock/loadtest/history"
)

// words describes items or rows as a person reads them: "2 of product 1001, 1 of product 1002"; "nothing" if there are
// none.
func words[T any](all []T) string {
	texts := make([]string, len(all))
	for i, one := range all {
		texts[i] = wordsOf(one)
	}
	if len(texts) == 0 {
		return "nothing"
	}
	return strings.Join(texts, ", ")
}

func wordsOf(one any) string {
	switch r := one.(type) {
	case history.Item:
		return fmt.Sprintf("%d of product %d", r.Num, r.GoodsID)
	case history.PricedItem:
		return priced(history.Item{GoodsID: r.GoodsID, Num: r.Num}, r.Price)
	case history.Row:
		return fmt.Sprintf("%s %+d of product %d", r.Kind, r.Num, r.GoodsID)
	case ItemRow:
		return priced(r.Item, r.Price)
	case FlowRow:
		return fmt.Sprintf("%s %+d of product %d", r.Kind, r.Num, r.Goods)
	case RestockRow:
		text := fmt.Sprintf("product %d", r.Goods)
		if r.Name != nil {
			text += " named " + strconv.Quote(string(r.Name))
		}
		if r.Price != nil {
			text += " at " + strconv.FormatInt(*r.Price, 10)
		}
		return text
	}
	return fmt.Sprint(one)
}

func priced(it history.Item, price int64) string { return fmt.Sprintf("%s at %d", wordsOf(it), price) }

// zulu is a moment as people write it, in UTC.
func zulu(at time.Time) string { return at.UTC().Format(time.RFC3339) }
