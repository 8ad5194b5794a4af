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
// run. The tags are of its line in the file.
type Aside struct {
	// Row is the row of the grammar.
	Row string `json:"aside"`
	// Method and Path are the call's, the path with its query. Route is the path in the service's OpenAPI document.
	Method string `json:"method"`
	Route  string `json:"route"`
	Path   string `json:"path"`
	// Token says how the stock service's token was sent; "" if it was as it must be, or the call needs none.
	Token string `json:"token,omitzero"`
	// Key is the header Idempotency-Key; "" if there was none.
	Key  string `json:"key,omitzero"`
	Body string `json:"body,omitzero"`
	// Media is the media type of the body; "" if it was as it must be.
	Media string `json:"media,omitzero"`
	// Op is the order whose key, flag or id the call uses, or -1.
	Op   int32         `json:"-"`
	Sent time.Duration `json:"sent_us,format:micro"`
	Done time.Duration `json:"done_us,format:micro"`

	Failure Failure `json:"error,omitzero"`
	Code    uint16  `json:"code,omitzero"`
	Problem Problem `json:"problem,omitzero"`
	// Postponed and NoHint are as in Call.
	Postponed bool `json:"postponed,omitzero"`
	NoHint    bool `json:"no_retry_after,omitzero"`
	// OtherID: the answer, or the problem in it, has not the call's X-Request-Id.
	OtherID bool `json:"other_request_id,omitzero"`
	// Answer is the body of an answer without a problem, unless it is a page of orders.
	Answer string `json:"answer,omitzero"`
	// Next is the cursor of the page after this one; 0 on the last. Listed are the orders that are the run's, or buy its
	// products, and All counts all.
	Next   int64    `json:"next,string,omitzero"`
	Listed []Listed `json:"-"`
	All    int      `json:"all,omitzero"`
}

// Listed is an order on a page.
type Listed struct {
	Order int64      `json:"order,string"`
	Total int64      `json:"total"`
	Named NamedItems `json:"-"`
	// Op is the number of the order, or -1 if no earlier answer named its id.
	Op     int32  `json:"op"`
	Reason Reason `json:"-"`
	Status Status `json:"status"`
	// AsAnswered: earlier answers gave this date and this reason, and Created and Reason are 0.
	AsAnswered bool  `json:"-"`
	Created    int64 `json:"-"`
}

// Ended reports whether the call got an end, as Call.Ended does.
func (a *Aside) Ended() bool { return ended(a.Failure, a.Code) }

type asideLine struct {
	Line int    `json:"line"`
	Op   *int32 `json:"op,omitzero"`
	Aside
	Listed []listedLine `json:"listed,omitzero"`
}

type listedLine struct {
	Listed
	NamedItems []PricedItem `json:"told_items,omitzero"` // not if they are the items that were sent
	Nothing    bool         `json:"nothing,omitzero"`    // it has no items
	Created    *int64       `json:"created_us,omitzero"` // not if earlier answers gave it and the reason
	Reason     string       `json:"reason,omitzero"`
}

// asideLine returns aside i as written to the file.
func (h *History) asideLine(i int) asideLine {
	a := &h.Asides[i]
	l := asideLine{Line: len(h.Calls) + i + 2, Aside: *a}
	if a.Op >= 0 {
		l.Op = &a.Op
	}
	for _, o := range a.Listed {
		line := listedLine{Listed: o}
		if o.Named != ItemsAsSent {
			line.NamedItems = h.Named(o.Named, ReadOrder, int(o.Op))
			line.Nothing = len(line.NamedItems) == 0
		}
		if !o.AsAnswered {
			line.Created, line.Reason = &o.Created, h.reason(o.Reason)
		}
		l.Listed = append(l.Listed, line)
	}
	return l
}

// aside returns the aside that a line holds, if it is one of a run.
func (r *reading) aside(l *asideLine) (Aside, bool) {
	a := l.Aside
	if a.Op = -1; l.Op != nil {
		a.Op = *l.Op
	}
	if a.Row == "" || a.Sent < 0 || a.Done < a.Sent || l.Line != r.number || a.Op < -1 || int(a.Op) >= r.h.Orders() {
		return Aside{}, false
	}
	a.Listed = slices.Grow(a.Listed, len(l.Listed))
	for _, line := range l.Listed {
		o := line.Listed
		o.Named = ItemsAsSent
		if o.AsAnswered = line.Created == nil; !o.AsAnswered {
			o.Created, o.Reason = *line.Created, r.h.Reasoned(line.Reason)
		}
		if o.Op < -1 || int(o.Op) >= r.h.Orders() || o.AsAnswered && line.Reason != "" {
			return Aside{}, false
		}
		switch {
		case line.Nothing:
			o.Named = NoItems
		case len(line.NamedItems) > 0:
			var sent []Item
			if o.Op >= 0 {
				sent = r.h.Items(int(o.Op))
			}
			o.Named = r.h.Identify(ReadOrder, sent, line.NamedItems)
		case o.Op < 0:
			return Aside{}, false
		}
		a.Listed = append(a.Listed, o)
	}
	return a, true
}
