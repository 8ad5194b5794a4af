// Package stockapi is the HTTP API between the order service and the stock service: bodies that package operation does
// not have, the statuses of the codes, and the client.
//
// The client chooses the replica, fails over to the next one if that is unreachable, passes over one that does not
// answer, and repeats a failed call within a budget, all under one flag.
package stockapi

import (
	"orderstock/pkg/httpapi"
	"orderstock/pkg/operation"
)

// DeductRequest is the body of PUT /v1/operations/{flag}.
type DeductRequest struct {
	Items []operation.Item `json:"items"`
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
	Flag        string           `json:"flag"`
	Items       []operation.Item `json:"items"`
	RequestID   string           `json:"request_id,omitempty"`
	Traceparent string           `json:"traceparent,omitempty"`
	TimeoutMS   int64            `json:"timeout_ms,omitempty"`
}

// DeductAnswer is one line of the answer to a DeductAllRequest: an Operation, or a Problem with the seconds to wait
// before the next try. The lines come in the order that the deductions finish. If the answer ends early, the outcome of
// each deduction without a line is unknown.
type DeductAnswer struct {
	// Index is the deduction's place in the request.
	Index      int                  `json:"index"`
	Operation  *operation.Operation `json:"operation,omitempty"`
	Problem    *httpapi.Problem     `json:"problem,omitempty"`
	RetryAfter int64                `json:"retry_after,omitempty"`
}

// FlowsResponse answers GET /v1/flows?flag=a&flag=b: the operations and the flow
// rows under the flags. A flag with nothing recorded is in neither list.
type FlowsResponse struct {
	Operations []operation.Operation `json:"operations"`
	Flows      []operation.Flow      `json:"flows"`
}

// StockResponse answers GET /v1/stock?after=&limit= with a page, and
// GET /v1/stock?goods_id=a&goods_id=b with these products.
type StockResponse struct {
	Goods []operation.Goods `json:"goods"`
	// Next is the value of after for the next page, or empty on the last.
	Next string `json:"next,omitempty"`
}
