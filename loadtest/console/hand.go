package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// HandOrder is one order that is sent by hand.
type HandOrder struct {
	Items []HandItem `json:"items"`
	Key   string     `json:"key"`
}

// HandItem is a product and a number of pieces.
type HandItem struct {
	GoodsID string `json:"goods_id"`
	Num     int64  `json:"num"`
}

// Placed is the answer to an order by hand, as the order service gave it.
type Placed struct {
	Status  int             `json:"status"`
	Body    json.RawMessage `json:"body"`
	OrderID string          `json:"order_id"`
}

// PlaceByHand sends an order to the first order service that accepts a connection, and returns its answer.
func (c *Console) PlaceByHand(ctx context.Context, o HandOrder) (*Placed, error) {
	at, err := c.serving()
	if err != nil {
		return nil, err
	}
	if len(o.Items) == 0 {
		return nil, invalid("the order has no items")
	}
	body, err := json.Marshal(map[string]any{"items": o.Items})
	if err != nil {
		return nil, fmt.Errorf("encode order: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	header := http.Header{"Content-Type": {"application/json"}}
	if o.Key != "" {
		header.Set("Idempotency-Key", o.Key)
	}
	placed := &Placed{}
	end := c.traceByHand(ctx, header, o.Key)
	defer func() { end(placed) }()
	defer c.byHand.place(placed, o.Key)()
	resp, err := postToFirst(ctx, at.OrderURLs, header, body)
	if err != nil {
		return nil, problemOf(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return nil, problemOf(err)
	}
	placed.Status, placed.Body = resp.StatusCode, text
	if !json.Valid(text) {
		placed.Body, _ = json.Marshal(string(text))
	}
	placed.OrderID, _ = orderOf(text)
	return placed, nil
}

// handClient makes a new connection for each request, so that a dead order service refuses it.
var handClient = &http.Client{Transport: probe.Transport}

// postToFirst posts an order to the first of the order services that accepts a connection. It stops at any other error,
// since the order may have been placed.
func postToFirst(ctx context.Context, urls []string, header http.Header, body []byte) (resp *http.Response, err error) {
	err = errors.New("there is none")
	for _, url := range urls {
		var req *http.Request
		if req, err = http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/orders", bytes.NewReader(body)); err != nil {
			return nil, fmt.Errorf("place order: %w", err)
		}
		req.Header = header
		resp, err = handClient.Do(req)
		if refused, ok := errors.AsType[*net.OpError](err); !ok || refused.Op != "dial" {
			return resp, err
		}
	}
	return nil, err
}

// byHand notes the orders placed by hand, which no run's history has. It is safe for concurrent use, and its zero value
// is ready for use.
type byHand struct {
	mu      sync.Mutex
	placing int             // not answered yet
	placed  map[string]bool // the ids of the answered ones
	keys    []string        // answered or not
}

// place notes that an order is being placed. Callers must call done once placed is filled.
func (h *byHand) place(placed *Placed, key string) (done func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.placing++
	if key != "" {
		h.keys = append(h.keys, key)
	}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.placing--
		if placed.OrderID != "" {
			if h.placed == nil {
				h.placed = map[string]bool{}
			}
			h.placed[placed.OrderID] = true
		}
	}
}

// count returns how many orders are being placed, and were placed.
func (h *byHand) count() (placing, placed int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.placing, len(h.placed)
}

// declared returns the flags and keys.
func (h *byHand) declared() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.AppendSeq(slices.Clone(h.keys), maps.Keys(h.placed))
}

// orderOf returns the order's id and status in an answer; both are "" in a problem.
func orderOf(answer []byte) (id, status string) {
	var order struct {
		ID     string `json:"id"`
		Status any    `json:"status"` // a number in a problem
	}
	if json.Unmarshal(answer, &order) != nil {
		return "", ""
	}
	status, _ = order.Status.(string)
	return order.ID, status
}

// problemOf returns the problem for an order service that did not answer.
func problemOf(err error) error { return conflict("the order service does not answer: %v", err) }
