package judge

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"orderstock/loadtest/judge/send"
	"orderstock/loadtest/judge/shop"
)

// Item is a product and the pieces of it that an order buys.
type Item struct {
	Product string      `json:"product"`
	Pieces  shop.Pieces `json:"pieces"`
}

// Order is one order of a phase with all its calls.
type Order struct {
	Key string `json:"key"`
	// UUID is the key's other form, {{uuid}}; "" for none.
	UUID string `json:"uuid,omitempty"`
	// Number is the key as a number, {{n}}; 0 for none.
	Number int64 `json:"n,omitempty"`
	// Buyer is the number of the buyer, if one has several orders; else 0.
	Buyer  int    `json:"buyer,omitempty"`
	Basket []Item `json:"basket"`
	// Request is its request; nil if a step of the buyer failed.
	Request *send.Wire `json:"request,omitempty"`
	// Probe: it was sent alone after the phase, to see whether the service still serves. No figure counts it.
	Probe bool `json:"probe,omitempty"`
	// Halted says why a step after the order could not be done, which leaves its end unknown; or "".
	Halted string `json:"halted,omitempty"`
	Calls  []Call `json:"calls"`
	// Vars are the variables of the order, if the evidence is kept.
	Vars shop.Vars `json:"vars,omitempty"`
}

// Call is one call and its answer. Times count from the start of the phase.
type Call struct {
	// Kind is the reason for the call.
	Kind Kind `json:"kind"`
	// Step is the number of the step after the order, from 1, if the call is one.
	Step int           `json:"step,omitempty"`
	Sent time.Duration `json:"sent_ns"`
	Done time.Duration `json:"done_ns"`
	// Status and Body are the answer's; the body is cut. Status is 0 if there was none.
	Status int    `json:"status,omitempty"`
	Body   string `json:"body,omitempty"`
	// Failure says why there is no answer. Unsent means that the service cannot have executed the call.
	Failure string `json:"failure,omitempty"`
	Unsent  bool   `json:"unsent,omitempty"`
	shop.Reading
	// Answer is the whole answer, if the evidence is kept.
	Answer *shop.Answer `json:"answer,omitempty"`
}

// Kind is the reason for a call.
type Kind string

const (
	// First is the first call of an order, and Click the second of a double click.
	First Kind = "first"
	Click Kind = "click"
	// Lost is a first call whose answer is lost on the way, after the service has executed it.
	Lost Kind = "lost"
	// Repeat is sent under the same key after the first call has ended, Late at the end of the phase.
	Repeat Kind = "repeat"
	Late   Kind = "late"
	// Probe is the call of an order that is sent after the phase.
	Probe Kind = "probe"
	// Buyer is a step of the buyer that failed, so that no order was sent.
	Buyer Kind = "buyer"
	// Then is a step after the order, and Cancel cancels it. Race is a step that is sent at the same moment as the cancel:
	// its refusal says nothing about the order.
	Then   Kind = "then"
	Cancel Kind = "cancel"
	Race   Kind = "race"
)

// orders reports whether the call is one of the order itself.
func (k Kind) orders() bool { return k != Buyer && k != Then && k != Cancel && k != Race }

// String describes the call in a line.
func (c Call) String() string {
	text := fmt.Sprintf("%-6s at %7.1f ms, %7.1f ms: ", c.Kind, ms(c.Sent), ms(c.Done-c.Sent))
	switch {
	case c.Failure != "":
		return text + c.Failure
	case c.Kind == Lost:
		return text + "the answer was lost on the way"
	}
	text += fmt.Sprintf("%d %s", c.Status, c.Body)
	if (c.Kind == Then || c.Kind == Race) && c.Means == shop.Unknown {
		return text
	}
	return text + fmt.Sprintf(" → %s", c.Reading)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// reached reports whether the service may have executed a call of the order.
func (o *Order) reached() bool {
	return slices.ContainsFunc(o.Calls, func(c Call) bool { return !c.Unsent && c.Kind != Buyer })
}

func (o *Order) any(means shop.Means) bool {
	return slices.ContainsFunc(o.Calls, func(c Call) bool { return c.Means == means })
}

// end is the meaning of all answers to the order together.
func (o *Order) end() shop.Means {
	for _, means := range []shop.Means{shop.Accepted, shop.Rejected, shop.Pending} {
		if o.any(means) {
			return means
		}
	}
	return shop.Unknown
}

// unserved reports whether its last call has no answer, or one that says that the service failed.
func (o *Order) unserved() bool {
	n := len(o.Calls)
	return n == 0 || o.Calls[n-1].Status == 0 || o.Calls[n-1].Status >= http.StatusInternalServerError
}

// cancelled reports whether the order is cancelled for sure, and whether it may be. The time is when the last call that
// cancelled it had ended.
func (o *Order) cancelled() (at time.Duration, sure, maybe bool) {
	for _, c := range o.Calls {
		switch {
		case c.Kind != Cancel || c.Unsent:
		case c.Means == shop.Cancelled:
			at, sure = max(at, c.Done), true
		default:
			maybe = maybe || c.Status < http.StatusMultipleChoices || c.Status >= http.StatusInternalServerError
		}
	}
	return at, sure, sure || maybe
}

// holds is the end of the order as far as its pieces go: a cancelled one has none, as a rejected one. It is unknown if
// the order may be cancelled, or a step after it was not done.
func (o *Order) holds() shop.Means {
	_, sure, maybe := o.cancelled()
	switch end := o.end(); {
	case sure && (end == shop.Accepted || end == shop.Pending):
		return shop.Rejected
	case (maybe || o.Halted != "") && end == shop.Accepted:
		return shop.Unknown
	default:
		return end
	}
}

// placed reports whether the order was accepted or may be yet.
func (o *Order) placed() bool { return o.end() == shop.Accepted || o.end() == shop.Pending }

// ids returns the different order ids in answers with those meanings.
func (o *Order) ids(means ...shop.Means) (ids []string) {
	for _, c := range o.Calls {
		if c.Order != "" && slices.Contains(means, c.Means) && !slices.Contains(ids, c.Order) {
			ids = append(ids, c.Order)
		}
	}
	return ids
}

// sent is when the order's first call was sent.
func (o *Order) sent() time.Duration {
	if len(o.Calls) == 0 {
		return 0
	}
	return slices.MinFunc(o.Calls, func(a, b Call) int { return int(a.Sent - b.Sent) }).Sent
}

// done is when its last call had ended, or never if the service may still work on one.
func (o *Order) done() (last time.Duration) {
	for _, c := range o.Calls {
		if c.Failure != "" && !c.Unsent || c.Kind == Lost {
			return 1 << 62
		}
		last = max(last, c.Done)
	}
	return last
}

// rejectedBy is when a rejected order holds no pieces any more, or never. It is later than when it was sent, also by a
// coarse clock.
func (o *Order) rejectedBy() time.Duration {
	if o.end() != shop.Rejected {
		return 1 << 62
	}
	return max(o.done(), o.sent()+1)
}

// times is how many orders it may have become: more than one is a violation itself.
func (o *Order) times() shop.Pieces {
	return shop.Pieces(max(1, len(o.ids(shop.Accepted, shop.Pending))))
}

// pieces adds up all products.
func (o *Order) pieces() (sum shop.Pieces) {
	for _, it := range o.Basket {
		sum += it.Pieces
	}
	return sum
}

// leftOpen reports whether a step after the order may have been done, and no answer came.
func (o *Order) leftOpen() bool {
	return slices.ContainsFunc(o.Calls, func(c Call) bool { return c.Kind == Then && c.Failure != "" && !c.Unsent })
}

// has reports whether the order is for a product.
func (o *Order) has(product string) bool {
	return slices.ContainsFunc(o.Basket, func(it Item) bool { return it.Product == product })
}

func (o *Order) basket() string {
	parts := make([]string, len(o.Basket))
	for i, it := range o.Basket {
		parts[i] = it.Pieces.String() + " of product " + it.Product
	}
	return strings.Join(parts, ", ")
}
