package orderhttp

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/gin-gonic/gin"

	"orderstock/order-service/order"
	"orderstock/pkg/httpapi"
	"orderstock/pkg/operation"
)

const (
	headerKey      = "Idempotency-Key"
	headerReplayed = "Idempotency-Replayed"

	defaultPage = 50
	maxPage     = 500
)

func (h *handlers) place(c *gin.Context) error {
	key, err := h.idempotencyKey(c)
	if err != nil {
		return err
	}
	var body placeBody
	if err := httpapi.Decode(c, &body); err != nil {
		return err
	}
	request, err := order.NewRequest(key, body.Items)
	if err != nil {
		return err
	}
	placed, err := h.orders.Place(c.Request.Context(), request)
	if err != nil {
		return err
	}
	if placed.Replayed {
		c.Header(headerReplayed, "true")
	}
	answer := placedBody(placed.Order)
	c.Header("Location", "/v1/orders/"+answer.ID)
	c.JSON(placedStatus(placed.Order.Status), answer)
	return nil
}

// placedStatus returns the HTTP status for an order's outcome.
func placedStatus(s order.Status) int {
	switch s {
	case order.Confirmed:
		return http.StatusCreated
	case order.Rejected, order.Cancelled:
		return http.StatusConflict
	}
	return http.StatusAccepted
}

// idempotencyKey returns the key of the request, "" for none. The header holds a quoted string, as in
// draft-ietf-httpapi-idempotency-key-header, or the bare key, as most clients send it.
func (h *handlers) idempotencyKey(c *gin.Context) (string, error) {
	given := c.Request.Header.Values(headerKey)
	switch {
	case len(given) == 0 && h.requireKey:
		return "", httpapi.NewProblem(
			http.StatusBadRequest,
			"idempotency_key_missing",
			"send an Idempotency-Key, such as a new UUID for each order",
		)
	case len(given) == 0:
		return "", nil
	case len(given) > 1, given[0] == "":
		return "", order.ErrInvalidKey
	case given[0][0] == '"':
		return unquote(given[0])
	}
	return given[0], nil
}

// unquote returns the content of a string of RFC 9651, or ErrInvalidKey if it is malformed or empty.
func unquote(quoted string) (string, error) {
	var content []byte
	for i := 1; i < len(quoted); i++ {
		switch c := quoted[i]; {
		case c == '"' && i == len(quoted)-1 && len(content) > 0:
			return string(content), nil
		case c == '\\' && i+1 < len(quoted) && (quoted[i+1] == '"' || quoted[i+1] == '\\'):
			i++
			content = append(content, quoted[i])
		case c == '"', c == '\\':
			return "", order.ErrInvalidKey
		default:
			content = append(content, c)
		}
	}
	return "", order.ErrInvalidKey
}

func (h *handlers) get(c *gin.Context) error {
	id, ok := operation.ParseID(c.Param("id"))
	if !ok {
		return order.ErrInvalidID
	}
	o, err := h.orders.Get(c.Request.Context(), id)
	if err != nil {
		return err
	}
	c.JSON(http.StatusOK, present(o))
	return nil
}

func (h *handlers) cancel(c *gin.Context) error {
	id, ok := operation.ParseID(c.Param("id"))
	if !ok {
		return order.ErrInvalidID
	}
	o, err := h.orders.Cancel(c.Request.Context(), id)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if o.Status != order.Cancelled {
		status = http.StatusAccepted
	}
	c.JSON(status, present(o))
	return nil
}

func (h *handlers) page(c *gin.Context) error {
	r, follow, err := pageQuery(c)
	if err != nil {
		return err
	}
	found, more, err := h.orders.Page(c.Request.Context(), r, follow)
	if err != nil {
		return err
	}
	body := pageBody{Orders: make([]orderBody, len(found))}
	for i, o := range found {
		body.Orders[i] = present(o)
	}
	switch {
	case len(found) > 0 && (more || follow):
		body.Next = body.Orders[len(found)-1].ID
	case follow && r.After > 0:
		body.Next = strconv.FormatInt(r.After, 10)
	}
	c.JSON(http.StatusOK, body)
	return nil
}

func pageQuery(c *gin.Context) (r order.Range, follow bool, err error) {
	r.Limit = defaultPage
	query, err := httpapi.Query(c)
	if err != nil {
		return r, false, fmt.Errorf("%w: %w", operation.ErrInvalidPage, err)
	}
	for name, values := range query {
		value := values[0]
		switch {
		case len(values) > 1:
			err = fmt.Errorf("%w: %s is given twice", operation.ErrInvalidPage, name)
		case name == "status" && (value == "" || slices.Contains(order.Statuses, order.Status(value))):
			r.Status = order.Status(value)
		case name == "after" && value == "":
		case name == "after":
			id, ok := operation.ParseID(value)
			if r.After = id; !ok {
				err = fmt.Errorf("%w: after is an order id", operation.ErrInvalidPage)
			}
		case name == "limit" && value == "":
		case name == "limit":
			if r.Limit, err = httpapi.Limit(value, maxPage); err != nil {
				err = fmt.Errorf("%w: %w", operation.ErrInvalidPage, err)
			}
		case name == "follow" && (value == "" || value == "false" || value == "true"):
			follow = value == "true"
		default:
			err = fmt.Errorf("%w: %q cannot be %q", operation.ErrInvalidPage, name, value)
		}
		if err != nil {
			return r, false, err
		}
	}
	return r, follow, nil
}
