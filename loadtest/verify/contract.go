package verify

import (
	"net/http"
	"slices"

	"orderstock/loadtest/contract"
	"orderstock/loadtest/history"
)

// routes are the calls of a run by method and path, on PathOrder and on PathDeduct.
var routes = map[ask][2][2]string{
	toPlace:      {{"POST", "/v1/orders"}, {"PUT", "/v1/operations/{flag}"}},
	toCancel:     {{"POST", "/v1/orders/{id}/cancel"}, {"POST", "/v1/operations/{flag}/cancel"}},
	toRead:       {{"GET", "/v1/orders/{id}"}, {}},
	toReadLedger: {{"GET", "/v1/flows"}, {"GET", "/v1/flows"}},
}

// named reports whether the OpenAPI documents name the status of an answer. In a disturbance, a proxy that reaches no
// service may answer 502 and 504.
func (j *judge) named(c *history.Call) bool {
	which := routes[askOf(c.Kind)][0]
	if j.h.Path == history.PathDeduct {
		which = routes[askOf(c.Kind)][1]
	}
	r := contract.Find(which[0], which[1])
	proxy := c.Code == http.StatusBadGateway || c.Code == http.StatusGatewayTimeout
	return r != nil && slices.Contains(r.Statuses, int(c.Code)) || proxy && j.calm.excuses(c.Sent, c.Done)
}

// said returns the meaning of the answer to a call of order n, and whether its form is one of the contract.
func (j *judge) said(n int, c *history.Call) (says word, wellFormed bool) {
	if c.Problem == history.KeyMissing && c.Code == http.StatusBadRequest && j.h.FormOf(n) == history.Keyless {
		return word{}, c.Status == history.NoStatus // the service wants a key of every order
	}
	says, wellFormed = saidBy(j.h.Path, c)
	return says, wellFormed && !c.NoHint && (c.Code == 0 || j.named(c))
}
