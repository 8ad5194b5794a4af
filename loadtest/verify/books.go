package verify

import (
	"iter"
	"time"

	"orderstock/loadtest/history"
	"orderstock/pkg/operation"
)

// Books are the content of both databases, in the order that Judge reads them.
type Books struct {
	// Entries yields the rows grouped by flag, in ascending order. An entry is valid until the next one.
	Entries iter.Seq2[*Entry, error]
	// Products yields the stock levels in pages. They are read after Entries.
	Products iter.Seq2[[]ProductRow, error]
	// At is when they were read, by the clock of the load tester; zero if that is not known.
	At time.Time
	// Since and Until are ZooKeeper's last transactions before the services were started, and when the books were read.
	// 0: not known.
	Since, Until int64
}

// Entry is everything that the databases hold under one flag: the decimal id of an order, or any other flag.
type Entry struct {
	Flag       []byte
	Orders     []OrderRow
	Items      []ItemRow
	Operations []OperationRow
	Flows      []FlowRow
	Restocks   []RestockRow
	// Pruned is true if the order is listed as deleted; the stock database may still have its rows.
	Pruned bool
}

// OrderRow is a row of the table orders.
type OrderRow struct {
	ID              int64
	Status, Outcome history.Status
	Reason          Text
	Key             Text // nil if the order has none
	BodyHash        Text
	Total           int64
	Created         int64 // in microseconds since 1970
}

// ItemRow is a row of the table order_items.
type ItemRow struct {
	Order int64
	history.Item
	Price int64
}

// OperationRow is a row of the table operations.
type OperationRow struct {
	Flag   Text
	State  history.Status
	Reason Text
	Items  Text
	// Token is the highest fencing token of the locks that were held; all zeros if none was.
	Token Text
}

// KindPruned is the kind of a flow row in place of deductions that were deleted with their orders.
const KindPruned operation.Kind = "pruned"

var kinds = []operation.Kind{operation.KindRestock, operation.KindDeduct, operation.KindRestore, KindPruned}

// FlowRow is a row of the table stock_flow.
type FlowRow struct {
	Flag  Text
	Kind  operation.Kind
	Goods int64
	Num   int64
	// Created is in microseconds since 1970; 0 in older evidence, which lacks it.
	Created int64 `json:",omitzero"`
}

// ofOrder reports whether an order or a deduction made the row.
func (r FlowRow) ofOrder() bool {
	return r.Kind == operation.KindDeduct || r.Kind == operation.KindRestore
}

// RestockRow is a row of the table restocks.
type RestockRow struct {
	Flag  Text
	Goods int64
	// Name and Price are nil if the restock left them as they were.
	Name  Text
	Price *int64
}

// ProductRow is a row of the table stock.
type ProductRow struct {
	Goods int64
	Name  Text
	Price int64
	Num   int64
	// Token is the highest fencing token that wrote the row.
	Token Text
}
