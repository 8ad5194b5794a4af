package history

import (
	"slices"
	"time"
)

// The rows of calls that no grammar draws: a product that is read, and a page in the walk through the run's orders.
// These pages follow each other, from the first order to the last.
const (
	RowPage  = "page"
	RowLevel = "level"
)

// Aside is a call that concerns no single order: one that the run's grammar drew, a read of a product, or a page of
// orders. It is kept as it was sent and answered, for the model to say what is right. Times count from the start of the
// run.
type Aside struct {
	// Row is the row of the grammar.
	Row string
	// Method and Path are the call's, the path with its query. Route is the path in the service's OpenAPI document.
	Method, Route, Path string
	// Token says how the stock service's token was sent; "" if it was as it must be, or the call needs none.
	Token string
	// Key is the header Idempotency-Key; "" if there was none.
	Key  string
	Body string
	// Op is the order whose key, flag or id the call uses, or -1.
	Op         int32
	Sent, Done time.Duration

	Failure Failure
	Code    uint16
	Problem Problem
	// Postponed and NoHint are as in Call.
	Postponed, NoHint bool
	// OtherID: the answer has not the call's X-Request-Id.
	OtherID bool
	// Answer is the body of an answer without a problem, unless it is a page of orders.
	Answer string
	// Next is the cursor of the page after this one; 0 on the last. Listed are the orders that are the run's, or buy its
	// products, and All counts all.
	Next   int64
	Listed []Listed
	All    int
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

// Ended reports whether the call got an end, as Call.Ended does.
func (a *Aside) Ended() bool { return ended(a.Failure, a.Code) }

type asideLine struct {
	Aside   string       `json:"aside"`
	Line    int          `json:"line"`
	Op      *int32       `json:"op,omitzero"`
	Method  string       `json:"method"`
	Route   string       `json:"route"`
	Path    string       `json:"path"`
	Token   string       `json:"token,omitzero"`
	Key     string       `json:"key,omitzero"`
	Body    string       `json:"body,omitzero"`
	SentUs  int64        `json:"sent_us"`
	DoneUs  int64        `json:"done_us"`
	Code    uint16       `json:"code,omitzero"`
	Problem string       `json:"problem,omitzero"`
	Later   bool         `json:"postponed,omitzero"`
	NoHint  bool         `json:"no_retry_after,omitzero"`
	OtherID bool         `json:"other_request_id,omitzero"`
	Error   string       `json:"error,omitzero"`
	Answer  string       `json:"answer,omitzero"`
	Next    int64        `json:"next,string,omitzero"`
	Listed  []listedLine `json:"listed,omitzero"`
	All     int          `json:"all,omitzero"`
}

type listedLine struct {
	Op        int32        `json:"op"`
	Order     int64        `json:"order,string"`
	Status    string       `json:"status"`
	Total     int64        `json:"total"`
	ToldItems []pricedLine `json:"told_items,omitzero"` // not if they are the items that were sent
	Nothing   bool         `json:"nothing,omitzero"`    // it has no items
	Created   *int64       `json:"created_us,omitzero"` // not if earlier answers gave it and the reason
	Reason    string       `json:"reason,omitzero"`
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
		Aside: a.Row, Line: len(h.Calls) + i + 2, Op: known(a.Op), Method: a.Method, Route: a.Route, Path: a.Path,
		Token: a.Token, Key: a.Key, Body: a.Body, SentUs: a.Sent.Microseconds(), DoneUs: a.Done.Microseconds(),
		Code: a.Code, Problem: a.Problem.String(), Later: a.Postponed, NoHint: a.NoHint,
		OtherID: a.OtherID, Error: a.Failure.String(),
		Answer: a.Answer, Next: a.Next, All: a.All,
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
	failure := slices.Index(failureNames[:], l.Error)
	if l.Aside == "" || failure < 0 || l.SentUs < 0 || l.DoneUs < l.SentUs || l.Line != r.number {
		return Aside{}, false
	}
	a := Aside{
		Row: l.Aside, Method: l.Method, Route: l.Route, Path: l.Path, Token: l.Token, Key: l.Key, Body: l.Body, Op: -1,
		Sent: time.Duration(l.SentUs) * time.Microsecond, Done: time.Duration(l.DoneUs) * time.Microsecond,
		Failure: Failure(failure), Code: l.Code, Problem: ParseProblem(l.Problem), Postponed: l.Later, NoHint: l.NoHint,
		OtherID: l.OtherID,
		Answer:  l.Answer, Next: l.Next, All: l.All,
	}
	if l.Op != nil {
		a.Op = *l.Op
	}
	if a.Op < -1 || int(a.Op) >= r.h.Orders() {
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
