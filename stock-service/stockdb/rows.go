package stockdb

import (
	"fmt"
	"time"

	"orderstock/pkg/operation"
	"orderstock/stock-service/stock"
)

// operationRow is a row of operations.
type operationRow struct {
	Flag         string
	State        string
	Reason       string
	Items        string
	FencingToken []byte
}

// domain returns the row as the answer to a repeat.
func (r operationRow) domain() (operation.Operation, error) {
	items, err := stock.DecodeItems(r.Items)
	if err != nil {
		return operation.Operation{}, fmt.Errorf("read operation %s: %w", r.Flag, err)
	}
	op := operation.Operation{Flag: r.Flag, State: operation.State(r.State), Reason: r.Reason, Items: items, Repeat: true}
	copy(op.Token[:], r.FencingToken)
	return op, nil
}

// levelRow is the part of a row of stock that a deduction needs.
type levelRow struct {
	GoodsID      int64
	Num          int64
	FencingToken []byte
}

func (r levelRow) domain() *stock.Level {
	level := &stock.Level{Num: r.Num}
	copy(level.Token[:], r.FencingToken)
	return level
}

// goodsRow is the part of a row of stock that readers see.
type goodsRow struct {
	GoodsID int64
	Name    string
	Price   int64
	Num     int64
}

func (r goodsRow) domain() operation.Goods {
	return operation.Goods{GoodsID: r.GoodsID, Name: r.Name, Price: r.Price, Num: r.Num}
}

// flowRow is a row of stock_flow.
type flowRow struct {
	Flag      string
	GoodsID   int64
	Kind      string
	Num       int64
	CreatedAt time.Time
}

func (r flowRow) domain() operation.Flow {
	return operation.Flow{
		Flag: r.Flag, GoodsID: r.GoodsID, Kind: operation.Kind(r.Kind), Num: r.Num, CreatedAt: r.CreatedAt,
	}
}

// restockRow is the record of a restock. Told is false if it is older than the table of names and prices.
type restockRow struct {
	Num   int64
	Name  *string
	Price *int64
	Told  bool
}

// is reports whether r repeats the restock of the row. A name or price that r omits contradicts nothing.
func (row restockRow) is(r operation.Restock) bool {
	return row.Num == r.Num && (!row.Told || repeats(row.Name, r.Name) && repeats(row.Price, r.Price))
}

func repeats[T comparable](first, again *T) bool {
	return again == nil || first != nil && *first == *again
}

// now is the current time in the resolution of the columns, microseconds.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
