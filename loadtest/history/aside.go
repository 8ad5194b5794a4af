package history

import (
	"slices"
	"time"
)

// AsideKind is the reason for a call that concerns no single order.
type AsideKind uint8

const (
	// Level reads the level and the price of a product.
	Level AsideKind = iota
	// Page reads a page of orders. The pages of a run follow each other, from the first of its orders to the last.
	Page
	// Reprice restocks the product Repriced by RepricePieces, at NewPrice.
	Reprice
	// RestockAgain sends the run's restock of a product once more.
	RestockAgain

	// The others are calls that the contract refuses, and that change nothing.

	// BlankKey places an order under a key with a blank.
	BlankKey
	// LongKey places an order under a key of 256 characters.
	LongKey
	// OtherBody sends another number of pieces under the key of an order, and OtherProducts as many of another product.
	OtherBody
	OtherProducts
	// TwiceInBasket orders a product twice.
	TwiceInBasket
	// BeyondLimit, Nothing and Negative order more and fewer pieces than allowed.
	BeyondLimit
	Nothing
	Negative
	// UnknownProduct orders a product that does not exist.
	UnknownProduct
	// UnknownOrder reads an order that does not exist, and CancelUnknown cancels it.
	UnknownOrder
	CancelUnknown
	// NoToken deducts without the stock service's token, NoTokenRead reads and NoTokenRestock restocks. WrongToken deducts
	// with a longer one.
	NoToken
	NoTokenRead
	NoTokenRestock
	WrongToken
	// RestockOther sends the flag of the run's restock of a product with another number, RestockPrice with another price,
	// and RestockElsewhere for another product.
	RestockOther
	RestockPrice
	RestockElsewhere

	// AsideKinds is the number of kinds.
	AsideKinds
)

var asideNames = [...]string{
	"level", "page", "reprice", "restock-again", "blank-key", "long-key", "other-body", "other-products",
	"twice-in-basket", "beyond-limit", "nothing", "negative", "unknown-product", "unknown-order", "cancel-unknown",
	"no-token", "no-token-read", "no-token-restock", "wrong-token", "restock-other", "restock-price",
	"restock-elsewhere",
}

func (k AsideKind) String() string { return asideNames[k] }

// Aside is a call that concerns no single order, or that is refused, and its answer. Times count from the start of the
// run.
type Aside struct {
	Kind    AsideKind
	Failure Failure
	Code    uint16
	Problem Problem
	// Postponed is as in Call.
	Postponed bool
	// Op is the order whose key OtherBody or OtherProducts uses, and Goods the index of the product that is read or
	// stocked.
	Op, Goods  int32
	Sent, Done time.Duration
	// Num and Price are of the product in the answer.
	Num, Price int64
	// After and Next are the cursors of a page; Next is 0 on the last. Listed are its orders that are the run's, or buy
	// its products.
	After, Next int64
	Listed      []Listed
}

// Listed is an order on a page.
type Listed struct {
	Order, Total int64
	Told         Told
	// Op is the number of the order, or -1 if no earlier answer named its id.
	Op     int32
	Reason Reason
	Status Status
	// AsAnswered: earlier answers gave this date and this reason, and Created and Reason are 0.
	AsAnswered bool
	Created    int64
}

// NewAside returns an aside without an answer.
func NewAside(kind AsideKind, sent time.Duration) Aside {
	return Aside{Kind: kind, Op: -1, Goods: -1, Sent: sent}
}

// Ended reports whether the call got an end, as Call.Ended does.
func (a *Aside) Ended() bool { return ended(a.Failure, a.Code) }

type asideLine struct {
	Aside   string       `json:"aside"`
	Line    int          `json:"line"`
	Op      *int32       `json:"op,omitempty"`
	Goods   *int32       `json:"goods,omitempty"`
	SentUs  int64        `json:"sent_us"`
	DoneUs  int64        `json:"done_us"`
	Code    uint16       `json:"code,omitempty"`
	Problem string       `json:"problem,omitempty"`
	Later   bool         `json:"postponed,omitempty"`
	Error   string       `json:"error,omitempty"`
	Num     int64        `json:"num,omitempty"`
	Price   int64        `json:"price,omitempty"`
	After   int64        `json:"after,string,omitempty"`
	Next    int64        `json:"next,string,omitempty"`
	Listed  []listedLine `json:"listed,omitempty"`
}

type listedLine struct {
	Op        int32        `json:"op"`
	Order     int64        `json:"order,string"`
	Status    string       `json:"status"`
	Total     int64        `json:"total"`
	ToldItems []pricedLine `json:"told_items,omitempty"` // not if they are the items that were sent
	Nothing   bool         `json:"nothing,omitempty"`    // it has no items
	Created   *int64       `json:"created_us,omitempty"` // not if earlier answers gave it and the reason
	Reason    string       `json:"reason,omitempty"`
}

// known returns n, or nil for -1.
func known(n int32) *int32 {
	if n < 0 {
		return nil
	}
	return &n
}

// asideLine returns aside i as written to the file.
func (h *History) asideLine(i int) asideLine {
	a := &h.Asides[i]
	l := asideLine{
		Aside: a.Kind.String(), Line: len(h.Calls) + i + 2, Op: known(a.Op), Goods: known(a.Goods),
		SentUs: a.Sent.Microseconds(), DoneUs: a.Done.Microseconds(), Code: a.Code, Problem: a.Problem.String(),
		Later: a.Postponed, Error: a.Failure.String(), Num: a.Num, Price: a.Price, After: a.After, Next: a.Next,
	}
	for _, o := range a.Listed {
		line := listedLine{Op: o.Op, Order: o.Order, Status: o.Status.String(), Total: o.Total}
		if o.Told != ToldAsSent {
			line.ToldItems = priced(h.Named(o.Told, ReadOrder, int(o.Op)))
			line.Nothing = len(line.ToldItems) == 0
		}
		if !o.AsAnswered {
			line.Created, line.Reason = &o.Created, h.reason(o.Reason)
		}
		l.Listed = append(l.Listed, line)
	}
	return l
}

func priced(items []PricedItem) (lines []pricedLine) {
	for _, it := range items {
		lines = append(lines, pricedLine{it.GoodsID, it.Num, it.Price})
	}
	return lines
}

func unpriced(lines []pricedLine) []PricedItem {
	items := make([]PricedItem, len(lines))
	for i, it := range lines {
		items[i] = PricedItem{Item: Item{GoodsID: it.GoodsID, Num: it.Num}, Price: it.Price}
	}
	return items
}

// aside returns the aside that a line holds, if it is one of a run.
func (r *reading) aside(l *asideLine) (Aside, bool) {
	kind, failure := slices.Index(asideNames[:], l.Aside), slices.Index(failureNames[:], l.Error)
	if kind < 0 || failure < 0 || l.SentUs < 0 || l.DoneUs < l.SentUs || l.Line != r.number {
		return Aside{}, false
	}
	a := NewAside(AsideKind(kind), time.Duration(l.SentUs)*time.Microsecond)
	a.Done, a.Failure = time.Duration(l.DoneUs)*time.Microsecond, Failure(failure)
	a.Postponed = l.Later
	a.Code, a.Problem, a.Num, a.Price, a.After, a.Next = l.Code, ParseProblem(l.Problem), l.Num, l.Price, l.After, l.Next
	if l.Op != nil {
		a.Op = *l.Op
	}
	if l.Goods != nil {
		a.Goods = *l.Goods
	}
	if a.Op < -1 || int(a.Op) >= r.h.Orders() || a.Goods < -1 || int(a.Goods) >= len(r.h.Goods) {
		return Aside{}, false
	}
	for _, line := range l.Listed {
		o := Listed{Order: line.Order, Total: line.Total, Told: ToldAsSent, Op: line.Op, Status: ParseStatus(line.Status)}
		if o.AsAnswered = line.Created == nil; !o.AsAnswered {
			o.Created, o.Reason = *line.Created, r.h.Reasoned(line.Reason)
		}
		if o.Op < -1 || int(o.Op) >= r.h.Orders() || o.AsAnswered && line.Reason != "" {
			return Aside{}, false
		}
		switch {
		case line.Nothing:
			o.Told = ToldNothing
		case len(line.ToldItems) > 0:
			var sent []Item
			if o.Op >= 0 {
				sent = r.h.Items(int(o.Op))
			}
			o.Told = r.h.Tell(ReadOrder, sent, unpriced(line.ToldItems))
		case o.Op < 0:
			return Aside{}, false
		}
		a.Listed = append(a.Listed, o)
	}
	return a, true
}
