package stockhttp

import (
	"errors"

	"orderstock/pkg/httpapi"
	"orderstock/pkg/operation"
	"orderstock/pkg/stockapi"
)

// problemOf returns the answer for an error with a code, or nil for any other. The detail of a 503 says what failed;
// the cause stays in the log.
func problemOf(err error) *httpapi.Problem {
	code := operation.CodeOf(err)
	if code == (operation.Code{}) {
		return nil
	}
	p := stockapi.Problem(code, err.Error())
	if p.Status >= 500 {
		p.Detail = code.Error()
	}
	if locked := (operation.Locked{}); code == operation.ErrLocked && errors.As(err, &locked) {
		p.GoodsID = operation.FormatGoodsID(locked.GoodsID)
	}
	return p
}
