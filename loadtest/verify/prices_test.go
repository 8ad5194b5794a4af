package verify_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"orderstock/loadtest/history"
	"orderstock/loadtest/verify"
	"orderstock/pkg/operation"
	"orderstock/pkg/zklock"
)

// A price changes between 10 s and 11 s, and may be used for 2 s. One order is sent and answered around that.
func TestAPriceThatChanges(t *testing.T) {
	t.Parallel()
	const before, after = 100, 151
	lost := func(h *history.History) { h.Asides[0].Code, h.Asides[0].Failure = 0, history.TimedOut }
	for name, try := range map[string]struct {
		sent, done time.Duration // in milliseconds
		price      int64
		change     func(*history.History)
		finds      string
	}{
		"the old price before":                    {1000, 2000, before, nil, ""},
		"the new price before":                    {1000, 2000, after, nil, verify.PriceInForce},
		"the new price, answered before":          {9000, 10000, after, nil, verify.PriceInForce},
		"the new price, sent before":              {1000, 12000, after, nil, ""},
		"the old price, sent before":              {9000, 30000, before, nil, ""},
		"the old price during its time":           {13000, 14000, before, nil, ""},
		"the old price by a slower clock":         {13050, 14000, before, nil, ""},
		"the old price after its time":            {14000, 15000, before, nil, verify.PriceInForce},
		"the new price after":                     {14000, 15000, after, nil, ""},
		"another price":                           {14000, 15000, 99, nil, verify.OrderAsRequested},
		"the old price, the change not answered":  {14000, 15000, before, lost, ""},
		"the new price, the change not answered":  {14000, 15000, after, lost, ""},
		"the old price, its time to live unknown": {30000, 31000, before, func(h *history.History) { h.PriceTTL = 0 }, ""},
		"the new price, and nobody changed it": {
			14000, 15000, after, func(h *history.History) { h.Asides = nil }, verify.Unexplained,
		},
		"an answer at the old price, the new paid": {
			12000, 15000, after, func(h *history.History) { h.Calls[0].Total = before }, verify.AnswersTrue,
		},
		"the restock answered without its piece": {
			14000, 15000, after, func(h *history.History) {
				h.Asides[0] = repriced(h, 5, h.Asides[0].Sent, h.Asides[0].Done)
			}, verify.AnswersTrue,
		},
		"the old name long after": {
			14000, 15000, after, func(h *history.History) {
				h.Asides = append(h.Asides, history.Aside{
					Row: "level", Method: http.MethodGet, Route: "/v1/stock/{goods_id}", Path: "/v1/stock/1", Op: -1,
					Code: http.StatusOK, Sent: 20 * time.Second, Done: 21 * time.Second,
					Answer: fmt.Sprintf(`{"goods_id":"1","name":%q,"price":%d,"num":5}`, h.GoodsName(), h.NewPrice()),
				})
			}, verify.AnswersTrue,
		},
		"items at the old price, the new paid": {
			12000, 15000, after, func(h *history.History) { h.Calls[0].Named = history.ItemsAsSent }, verify.AnswersTrue,
		},
	} {
		h := &history.History{
			Run: run, Path: history.PathOrder, Started: time.UnixMicro(created), Disturbed: true, PriceTTL: 2 * time.Second,
			Goods: []history.Goods{{ID: 1, Stock: 5, Price: before}},
		}
		left := 6
		if try.done < 10_000 {
			left-- // the order is in it
		}
		h.Asides = []history.Aside{repriced(h, left, 10*time.Second, 11*time.Second)}
		h.AddOrder(items(1, 1))
		price := int64(before)
		if try.price == after {
			price = after
		}
		told := h.Identify(history.Place, h.Items(0), []history.PricedItem{{GoodsID: 1, Num: 1, Price: price}})
		h.Calls = []history.Call{{
			Sent: try.sent * time.Millisecond, Done: try.done * time.Millisecond, Code: http.StatusCreated,
			Status: history.Confirmed, Order: firstOrder, Total: try.price, Named: told, Created: created,
			Location: history.Located,
		}}
		v := verify.Judge(soldAt(h, try.price), changed(h, try.change), verify.Terms{})
		if try.finds == "" && v.Outcome != verify.Pass || try.finds != "" && !slices.Contains(v.Violated(), try.finds) {
			var text strings.Builder
			_ = v.Write(&text, false)
			t.Errorf("%s: want %q:\n%s", name, try.finds, &text)
		}
	}
}

func changed(h *history.History, change func(*history.History)) *history.History {
	if change != nil {
		change(h)
		for i := range h.Asides {
			if h.Asides[i].Code == 0 {
				h.Asides[i].Answer = ""
			}
		}
	}
	return h
}

// repriced returns the restock of one piece of the first product that sets its last price, and leaves so many pieces.
func repriced(h *history.History, left int, sent, done time.Duration) history.Aside {
	body, err := json.Marshal(h.More(1))
	if err != nil {
		panic(err)
	}
	return history.Aside{
		Row: "restock", Method: http.MethodPost, Route: "/v1/stock/{goods_id}/restock", Path: "/v1/stock/1/restock",
		Body: string(body), Op: -1, Code: http.StatusOK, Sent: sent, Done: done,
		Answer: fmt.Sprintf(`{"goods_id":"1","name":%q,"price":%d,"num":%d}`, h.NewName(), h.NewPrice(), left),
	}
}

// soldAt returns the books after the change of the price and one order at that price.
func soldAt(h *history.History, price int64) verify.Books {
	first, then := h.Goods[0].Price, h.NewPrice()
	id, hash := []byte(flag(0)), history.BodyHash(h.Items(0))
	restock, reprice := []byte(h.RestockFlag(0)), []byte(h.More(1).Flag)
	books := &verify.Tables{
		Orders: []verify.OrderRow{{
			ID: firstOrder, Status: history.Confirmed, Outcome: history.Confirmed, Key: []byte(h.Key(0)), BodyHash: hash[:],
			Total: price, Created: created,
		}},
		Items:      []verify.ItemRow{{Order: firstOrder, Item: h.Items(0)[0], Price: price}},
		Operations: []verify.OperationRow{{Flag: id, State: history.Done, Items: []byte("1:1")}},
		Flows: []verify.FlowRow{
			{Flag: restock, Kind: operation.KindRestock, Goods: 1, Num: 5},
			{Flag: id, Kind: operation.KindDeduct, Goods: 1, Num: -1},
			{Flag: reprice, Kind: operation.KindRestock, Goods: 1, Num: 1},
		},
		Restocks: []verify.RestockRow{
			{Flag: restock, Goods: 1, Name: []byte(h.GoodsName()), Price: &first},
			{Flag: reprice, Goods: 1, Name: []byte(h.NewName()), Price: &then},
		},
		Products: []verify.ProductRow{{Goods: 1, Name: []byte(h.NewName()), Price: then, Num: 5}},
	}
	return books.Books()
}

// TestARepeatedRestock: of two calls of one restock at once nobody knows which is the repeat, whose pieces may be sold
// when it is answered.
func TestARepeatedRestock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lefts []int // that each call of the restock shows
		want  verify.Outcome
	}{
		"twice at once":              {[]int{2, 0}, verify.Pass},
		"once, without its piece":    {[]int{0}, verify.Violation},
		"twice, with one piece more": {[]int{2, 3}, verify.Violation},
	} {
		books, h := sold(zklock.Token{}, sale{12 * time.Second, 13 * time.Second, zklock.Token{}},
			sale{12 * time.Second, 13 * time.Second, zklock.Token{}})
		h.Goods[0].Stock, books.Flows[0].Num = 1, 1
		more, price := h.More(1), h.NewPrice()
		for _, left := range c.lefts {
			h.Asides = append(h.Asides, repriced(h, left, 10*time.Second, 15*time.Second))
		}
		books.Flows = append(books.Flows, verify.FlowRow{
			Flag: []byte(more.Flag), Kind: operation.KindRestock, Goods: 1, Num: 1,
		})
		books.Restocks = append(books.Restocks, verify.RestockRow{
			Flag: []byte(more.Flag), Goods: 1, Name: []byte(h.NewName()), Price: &price,
		})
		p := &books.Products[0]
		p.Num, p.Name, p.Price = 0, []byte(h.NewName()), price
		v := verify.Judge(books.Books(), h, verify.Terms{})
		if v.Outcome != c.want || c.want == verify.Violation && !slices.Equal(v.Violated(), []string{verify.AnswersTrue}) {
			t.Errorf("%s: %s: %v", name, v, v.Violated())
		}
	}
}
