package verify

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"orderstock/loadtest/history"
)

// ledger is the content of the databases, as far as it is kept in memory: sums for
// each product, and a few bytes for each order of the run.
type ledger struct {
	sums map[int64]*goodsSum
	ops  []storedOp
}

// goodsSum sums up the flow rows of one product.
type goodsSum struct {
	all                           int64
	restocked, deducted, restored int64 // pieces, above zero if the signs are right
	// The flow rows by order, only for the products of the run.
	deducts, restores []pieces
}

// pieces is one flow row of an order: op is -1 if the order is none of the run's.
type pieces struct {
	op  int32
	num int64
}

// storedOp is one order of the run as the databases have it.
type storedOp struct {
	order  int64
	status history.Status // of the order, or of the operation on PathDeduct
	state  history.Status // of the operation
}

// group is all that belongs to one flag.
type group struct {
	flag       string
	operations int
	state      history.Status
	garbled    bool
	op         []history.Item // the operation's items
	deducts    []history.Item // num above zero if the sign is right
	restores   []history.Item

	order  bool
	row    orderRow
	items  []history.Item
	prices []int64
	orphan bool // items without an order
}

func (g *group) reset(flag string) {
	*g = group{
		flag: flag, op: g.op[:0], deducts: g.deducts[:0], restores: g.restores[:0],
		items: g.items[:0], prices: g.prices[:0],
	}
}

// comparison reads the four tables side by side, sorted by flag, and looks at
// what belongs to one flag at a time.
type comparison struct {
	h      *history.History
	told   *told
	found  *findings
	v      *Verdict
	prices map[int64]int64
	pruned map[string]bool // orders deleted, their flow rows perhaps not yet
	ledger *ledger

	operations *cursor[operationRow]
	flows      *cursor[flowRow]
	orders     *cursor[orderRow]
	items      *cursor[itemRow]
	group      group
}

func compare(ctx context.Context, orders, stock *reader, h *history.History, t *told, found *findings,
	v *Verdict,
) (l *ledger, err error) {
	c := &comparison{
		h: h, told: t, found: found, v: v, prices: prices(h),
		ledger: &ledger{sums: map[int64]*goodsSum{}, ops: make([]storedOp, h.Orders())},
	}
	if c.pruned, err = scanPruned(ctx, orders); err != nil {
		return nil, fmt.Errorf("read order database: %w", err)
	}
	// The stock side is read first: each operation in it has its order already.
	var txs []*sql.Tx
	defer func() {
		for _, tx := range txs {
			_ = tx.Rollback() // it only read
		}
	}()
	begin := func(r *reader, open func(*sql.Tx) error) {
		if err != nil {
			return
		}
		var tx *sql.Tx
		if tx, err = r.snapshot(ctx); err == nil {
			txs = append(txs, tx)
			err = open(tx)
		}
	}
	begin(stock, func(tx *sql.Tx) (err error) { c.operations, err = scanOperations(ctx, tx); return err })
	begin(stock, func(tx *sql.Tx) (err error) { c.flows, err = scanFlows(ctx, tx); return err })
	if err != nil {
		return nil, fmt.Errorf("read stock database: %w", err)
	}
	begin(orders, func(tx *sql.Tx) (err error) { c.orders, err = scanOrders(ctx, tx); return err })
	begin(orders, func(tx *sql.Tx) (err error) { c.items, err = scanItems(ctx, tx); return err })
	if err != nil {
		return nil, fmt.Errorf("read order database: %w", err)
	}
	for {
		more, err := c.gather()
		if err != nil {
			return nil, fmt.Errorf("read databases: %w", err)
		}
		if !more {
			return c.ledger, nil
		}
		c.look()
	}
}

// gather collects what belongs to the lowest flag that is left.
func (c *comparison) gather() (more bool, err error) {
	flag := ""
	least := func(candidate string, ok bool) {
		if ok && (!more || candidate < flag) {
			flag, more = candidate, true
		}
	}
	least(c.operations.row.flag, c.operations.ok)
	least(c.flows.row.flag, c.flows.ok)
	least(c.orders.row.flag, c.orders.ok)
	itemFlag := ""
	if c.items.ok {
		itemFlag = strconv.FormatInt(c.items.row.order, 10)
		least(itemFlag, true)
	}
	if !more {
		return false, nil
	}
	g := &c.group
	g.reset(flag)
	for ; err == nil && c.operations.ok && c.operations.row.flag == flag; err = c.operations.next() {
		row := &c.operations.row
		g.operations++
		g.state, g.garbled = row.state, row.garbled
		g.op = append(g.op[:0], row.items...)
	}
	for ; err == nil && c.flows.ok && c.flows.row.flag == flag; err = c.flows.next() {
		c.flow(&c.flows.row)
	}
	for ; err == nil && c.orders.ok && c.orders.row.flag == flag; err = c.orders.next() {
		g.order, g.row = true, c.orders.row
	}
	if itemFlag == flag {
		for order := c.items.row.order; err == nil && c.items.ok && c.items.row.order == order; err = c.items.next() {
			g.items = append(g.items, c.items.row.Item)
			g.prices = append(g.prices, c.items.row.price)
		}
		g.orphan = !g.order
	}
	return true, err
}

func (c *comparison) flow(row *flowRow) {
	sum := c.ledger.sums[row.goods]
	if sum == nil {
		sum = &goodsSum{}
		c.ledger.sums[row.goods] = sum
	}
	sum.all += row.num
	if row.kind != prunedRow && ((row.kind == deductRow) == (row.num > 0) || row.num == 0) {
		c.found.add(FlowSigns, "flag %s, product %d: a row of %d", row.flag, row.goods, row.num)
	}
	switch row.kind {
	case restockRow:
		sum.restocked += row.num
	case deductRow:
		sum.deducted -= row.num
		c.group.deducts = append(c.group.deducts, history.Item{GoodsID: row.goods, Num: -row.num})
	case restoreRow:
		sum.restored += row.num
		c.group.restores = append(c.group.restores, history.Item{GoodsID: row.goods, Num: row.num})
	case prunedRow: // deducted and not restored
		sum.deducted -= row.num
	}
}

// look checks the group of one flag, and keeps what later checks need of it.
func (c *comparison) look() {
	g := &c.group
	n := -1
	switch {
	case c.h.Path == history.PathDeduct:
		n = c.h.OrderOf(g.flag)
	case g.order && g.row.hasKey:
		n = c.h.OrderOf(g.row.key)
	}
	c.note(n)
	c.checkFlows()
	if c.pruned[g.flag] {
		return
	}
	if !strings.HasPrefix(g.flag, history.DirectPrefix) {
		c.checkOrder(n)
	}
}

// note keeps the part of the group that is needed once all is read.
func (c *comparison) note(n int) {
	g := &c.group
	for _, d := range g.deducts {
		if _, ours := c.prices[d.GoodsID]; ours {
			sum := c.ledger.sums[d.GoodsID]
			sum.deducts = append(sum.deducts, pieces{int32(n), d.Num})
		}
	}
	for _, r := range g.restores {
		if _, ours := c.prices[r.GoodsID]; ours {
			sum := c.ledger.sums[r.GoodsID]
			sum.restores = append(sum.restores, pieces{int32(n), r.Num})
		}
	}
	if n < 0 || c.h.Path == history.PathDeduct && g.operations == 0 {
		return
	}
	stored := &c.ledger.ops[n]
	if c.h.Path == history.PathDeduct {
		*stored = storedOp{status: g.state, state: g.state}
	} else {
		if stored.order != 0 && g.row.id != c.told.ops[n].order {
			return // two orders under one key, which checkKeys finds: judge the one that the client knows
		}
		*stored = storedOp{order: g.row.id, status: g.row.status, state: g.state}
	}
}

// prices returns the price that the run gave to each of its products.
func prices(h *history.History) map[int64]int64 {
	m := make(map[int64]int64, len(h.Goods))
	for _, g := range h.Goods {
		m[g.ID] = g.Price
	}
	return m
}
