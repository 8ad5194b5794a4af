// Package stockapi is the contract between the order service and the stock service:
// the bodies, the codes of the errors, and the HTTP client.
//
// Ids and flags are JSON strings, so that no reader rounds a 64-bit number.
// Quantities are whole pieces. Prices are in minor units of the currency.
package stockapi

import (
	"time"

	"orderstock/pkg/httpapi"
	"orderstock/pkg/operation"
)

// Item is the wire form of an operation.Item.
type Item struct {
	GoodsID string `json:"goods_id"`
	Num     int64  `json:"num"`
}

// ItemsOf converts items to their wire form.
func ItemsOf(items []operation.Item) []Item {
	sent := make([]Item, len(items))
	for i, item := range items {
		sent[i] = Item{GoodsID: operation.FormatGoodsID(item.GoodsID), Num: item.Num}
	}
	return sent
}

// ParseItems reads items in their wire form. It returns operation.ErrInvalidGoodsID for a malformed goods id, and
// checks no other rule.
func ParseItems(sent []Item) ([]operation.Item, error) {
	items := make([]operation.Item, len(sent))
	for i, item := range sent {
		id, err := operation.ParseGoodsID(item.GoodsID)
		if err != nil {
			return nil, err
		}
		items[i] = operation.Item{GoodsID: id, Num: item.Num}
	}
	return items, nil
}

// DeductRequest is the body of PUT /v1/operations/{flag}.
type DeductRequest struct {
	Items []Item `json:"items"`
}

// MaxDeductions is the maximum number of deductions in one request.
const MaxDeductions = 64

// DeductAllRequest is the body of POST /v1/operations: deductions that share the request and nothing
// else. Each succeeds or fails as if it were sent alone by PUT /v1/operations/{flag}.
type DeductAllRequest struct {
	Operations []Deduction `json:"operations"`
}

// Deduction is one deduction of a DeductAllRequest. RequestID, Traceparent and TimeoutMS replace the headers of a lone
// request; if RequestID is empty or TimeoutMS 0, the header of the shared request counts. Traceparent is W3C's; a
// deduction without it is not traced.
type Deduction struct {
	Flag        string `json:"flag"`
	Items       []Item `json:"items"`
	RequestID   string `json:"request_id,omitempty"`
	Traceparent string `json:"traceparent,omitempty"`
	TimeoutMS   int64  `json:"timeout_ms,omitempty"`
}

// DeductAnswer is one line of the answer to a DeductAllRequest: an Operation, or a Problem with the seconds to wait
// before the next try. The lines come in the order that the deductions finish. If the answer ends early, the outcome of
// each deduction without a line is unknown.
type DeductAnswer struct {
	// Index is the deduction's place in the request.
	Index      int              `json:"index"`
	Operation  *Operation       `json:"operation,omitempty"`
	Problem    *httpapi.Problem `json:"problem,omitempty"`
	RetryAfter int64            `json:"retry_after,omitempty"`
}

// Operation is the record under a flag: the answer to a deduction, to its
// repeats and to a cancellation.
type Operation struct {
	Flag   string          `json:"flag"`
	State  operation.State `json:"state"`
	Reason string          `json:"reason"`
	Items  []Item          `json:"items"`
	// FencingToken is the token of the lock holder that wrote the outcome, in sortable hex; empty if no lock was held.
	FencingToken string `json:"fencing_token"`
	// Repeat is true if this call found the outcome rather than made it.
	Repeat bool `json:"repeat"`
}

func (o Operation) whole() bool { return o.Flag != "" && o.State != "" }

// Flow is an entry of the ledger; Num is signed.
type Flow struct {
	Flag      string         `json:"flag"`
	GoodsID   string         `json:"goods_id"`
	Kind      operation.Kind `json:"kind"`
	Num       int64          `json:"num"`
	CreatedAt time.Time      `json:"created_at"`
}

// FlowsResponse answers GET /v1/flows?flag=a&flag=b: the operations and the flow
// rows under the flags. A flag with nothing recorded is in neither list.
type FlowsResponse struct {
	Operations []Operation `json:"operations"`
	Flows      []Flow      `json:"flows"`
}

func (r FlowsResponse) whole() bool { return r.Operations != nil && r.Flows != nil }

// Goods is a product: the answer to GET /v1/stock/{goods_id} and to a restock.
type Goods struct {
	GoodsID string `json:"goods_id"`
	Name    string `json:"name"`
	// Price of one piece, in minor units.
	Price int64 `json:"price"`
	Num   int64 `json:"num"`
}

func (g Goods) whole() bool { return g.GoodsID != "" }

// StockResponse answers GET /v1/stock?after=&limit= with a page, and
// GET /v1/stock?goods_id=a&goods_id=b with these products.
type StockResponse struct {
	Goods []Goods `json:"goods"`
	// Next is the value of after for the next page, or empty on the last.
	Next string `json:"next,omitempty"`
}

func (r StockResponse) whole() bool { return r.Goods != nil }

// RestockRequest is the body of POST /v1/stock/{goods_id}/restock. Name and Price, if given, replace the product's. A
// new product has no name and the price 0 by default.
type RestockRequest struct {
	Flag  string  `json:"flag"`
	Num   int64   `json:"num"`
	Name  *string `json:"name,omitempty"`
	Price *int64  `json:"price,omitempty"`
}
