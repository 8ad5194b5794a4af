package verify

import (
	"encoding/json"
	"net/http"
	"strconv"
	"sync"

	"orderstock/loadtest/history"
	"orderstock/order-service/orderhttp"
	"orderstock/stock-service/stockhttp"
)

// call is a call of the services' API as their OpenAPI documents name it.
type call struct{ method, path string }

// calls are the calls of a run, on PathOrder and on PathDeduct.
var calls = map[ask][2]call{
	toPlace:      {{"post", "/v1/orders"}, {"put", "/v1/operations/{flag}"}},
	toCancel:     {{"post", "/v1/orders/{id}/cancel"}, {"post", "/v1/operations/{flag}/cancel"}},
	toRead:       {{"get", "/v1/orders/{id}"}, {}},
	toReadLedger: {{"get", "/v1/flows"}, {"get", "/v1/flows"}},
}

// documented returns the statuses that the OpenAPI documents name, by call.
var documented = sync.OnceValue(func() map[call]map[string]json.RawMessage {
	all := map[call]map[string]json.RawMessage{}
	for _, text := range [][]byte{orderhttp.OpenAPI, stockhttp.OpenAPI} {
		var document struct {
			Paths map[string]map[string]struct {
				Responses map[string]json.RawMessage `json:"responses"`
			} `json:"paths"`
		}
		if err := json.Unmarshal(text, &document); err != nil {
			panic(err) // the services' tests read it
		}
		for path, methods := range document.Paths {
			for method, c := range methods {
				all[call{method, path}] = c.Responses
			}
		}
	}
	return all
})

// named reports whether the OpenAPI documents name the status of an answer. In a disturbance, a proxy that reaches no
// service may answer 502 and 504.
func (j *judge) named(c *history.Call) bool {
	which := calls[askOf(c.Kind)][0]
	if j.h.Path == history.PathDeduct {
		which = calls[askOf(c.Kind)][1]
	}
	_, found := documented()[which][strconv.Itoa(int(c.Code))]
	proxy := c.Code == http.StatusBadGateway || c.Code == http.StatusGatewayTimeout
	return found || proxy && j.calm.excuses(c.Sent, c.Done)
}

// said returns the meaning of the answer to a call of order n, and whether its form is one of the contract.
func (j *judge) said(n int, c *history.Call) (says word, wellFormed bool) {
	if c.Problem == history.KeyMissing && c.Code == http.StatusBadRequest && j.h.FormOf(n) == history.Keyless {
		return silent, c.Status == history.NoStatus // the service wants a key of every order
	}
	says, wellFormed = saidBy(j.h.Path, c)
	return says, wellFormed && (c.Code == 0 || j.named(c))
}
