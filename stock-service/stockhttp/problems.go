package stockhttp

import (
	"errors"

	"orderstock/pkg/batch"
	"orderstock/pkg/httpapi"
	"orderstock/pkg/operation"
	"orderstock/pkg/stockapi"
	"orderstock/stock-service/stock"
)

// codes is the one table from the domain's errors to the codes of the API, whose statuses package stockapi defines. The
// first match counts: an unknown outcome stays unknown even if something else went wrong too.
var codes = []struct {
	err  error
	code stockapi.Code
}{
	{stock.ErrUnknownOutcome, stockapi.CodeUnknownOutcome},
	{stock.ErrFlagConflict, stockapi.CodeFlagConflict},
	{stock.ErrUnknownGoods, stockapi.CodeUnknownGoods},
	{stock.ErrLevelOverflow, stockapi.CodeLevelOverflow},
	{stock.ErrOverloaded, stockapi.CodeOverloaded},
	{batch.ErrFull, stockapi.CodeOverloaded},
	{stock.ErrStaleToken, stockapi.CodeUnavailable},
	{operation.ErrLocked, stockapi.CodeLocked},
	{stock.ErrUnavailable, stockapi.CodeUnavailable},
	{stock.ErrInvalidFlag, stockapi.CodeInvalidFlag},
	{operation.ErrInvalidGoodsID, stockapi.CodeInvalidGoods},
	{operation.ErrInvalidItems, stockapi.CodeInvalidItems},
	{operation.ErrInvalidNum, stockapi.CodeInvalidNum},
	{operation.ErrDuplicateGoods, stockapi.CodeDuplicateGoods},
	{stock.ErrInvalidPrice, stockapi.CodeInvalidPrice},
	{stock.ErrInvalidName, stockapi.CodeInvalidName},
	{stock.ErrInvalidPage, stockapi.CodeInvalidPage},
}

// problemOf returns the answer for an error of the domain, or nil for any other. The detail of a 503 says what failed;
// the cause stays in the log.
func problemOf(err error) *httpapi.Problem {
	for _, row := range codes {
		if errors.Is(err, row.err) {
			p := stockapi.Problem(row.code, err.Error())
			if p.Status >= 500 {
				p.Detail = row.err.Error()
			}
			if locked := (operation.Locked{}); errors.Is(row.err, operation.ErrLocked) && errors.As(err, &locked) {
				p.GoodsID = operation.FormatGoodsID(locked.GoodsID)
			}
			return p
		}
	}
	return nil
}
