package orderhttp

import (
	"cmp"
	"errors"
	"net/http"
	"strings"
	"time"

	"orderstock/order-service/order"
	"orderstock/pkg/httpapi"
	"orderstock/pkg/operation"
)

// answers is the table of the codes that differ from the others of their scope: in the status, and the stock service's
// in the name.
var answers = map[operation.Code]struct {
	status int
	name   string
}{
	order.ErrInvalidKey:      {http.StatusBadRequest, ""},
	order.ErrInvalidID:       {http.StatusBadRequest, ""},
	order.ErrNotFound:        {http.StatusNotFound, ""},
	order.ErrRejected:        {http.StatusConflict, ""},
	operation.ErrLocked:      {http.StatusServiceUnavailable, "stock_locked"},
	operation.ErrUnavailable: {http.StatusServiceUnavailable, "stock_unavailable"},
}

// problemOf returns the problem that answers an error with a code, or nil for any other. Its detail begins with the
// code's text. Wrapping text and causes are left out; they go to the log.
func problemOf(err error) *httpapi.Problem {
	code := operation.CodeOf(err)
	if code == (operation.Code{}) {
		return nil
	}
	status, after, detail := http.StatusServiceUnavailable, time.Second, code.Error()
	if code.Scope() == operation.Final {
		status, after = http.StatusUnprocessableEntity, 0
		_, more, _ := strings.Cut(err.Error(), detail)
		detail += more
	}
	row := answers[code]
	p := httpapi.NewProblem(cmp.Or(row.status, status), cmp.Or(row.name, code.Name()), "%s", detail).After(after)
	if locked := (operation.Locked{}); errors.As(err, &locked) {
		p.GoodsID = operation.FormatGoodsID(locked.GoodsID)
	}
	return p
}
