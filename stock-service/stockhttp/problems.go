package stockhttp

import (
	"errors"

	"orderstock/pkg/batch"
	"orderstock/pkg/operation"
	"orderstock/pkg/problem"
	"orderstock/pkg/stockapi"
	"orderstock/stock-service/stock"
)

// codes is the one table from the domain's errors to those of the wire; what
// status goes with a code is stockapi's to say. The first match counts: an
// outcome that is unknown stays so whatever else went wrong beside it.
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

// problemOf is the engine's table. Causes of a failure stay in the log: the
// detail of a 503 names what could not be had, not where it is.
func problemOf(err error) *problem.Problem {
	for _, row := range codes {
		if errors.Is(err, row.err) {
			p := stockapi.Problem(row.code, err.Error())
			if p.Status >= 500 {
				p.Detail = row.err.Error()
			}
			return p
		}
	}
	return nil
}
