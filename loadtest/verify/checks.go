package verify

import (
	"slices"

	"orderstock/loadtest/history"
)

// checkFlows checks the stock side's rows of one flag against each other.
func (c *comparison) checkFlows() {
	g := &c.group
	if g.operations > 1 {
		c.found.add(OneOperation, "flag %s: %d operations", g.flag, g.operations)
	}
	twice := func(rows []history.Item, name, kind string) (extra int64) {
		for i := 1; i < len(rows); i++ {
			if rows[i].GoodsID == rows[i-1].GoodsID {
				extra++
				c.found.add(name, "flag %s, product %d: more than one %s row", g.flag, rows[i].GoodsID, kind)
			}
		}
		return extra
	}
	c.v.DoubleDeducted += twice(g.deducts, OneDeductRow, "deduct")
	twice(g.restores, OneRestoreRow, "restore")

	switch {
	case g.operations > 0 && g.state == history.Done:
		if g.garbled || len(g.op) == 0 || !slices.Equal(g.deducts, g.op) || len(g.restores) > 0 {
			c.found.add(DoneHasItsFlows, "flag %s: items %v, deducted %v, restored %v", g.flag, g.op, g.deducts, g.restores)
		}
	case g.operations > 0 && g.state == history.Restored:
		if g.garbled || len(g.op) == 0 || !slices.Equal(g.deducts, g.op) || !slices.Equal(g.restores, g.op) {
			c.found.add(RestoredHasItsFlows, "flag %s: items %v, deducted %v, restored %v", g.flag, g.op, g.deducts, g.restores)
		}
	case len(g.deducts) > 0:
		state := g.state.String()
		if g.operations == 0 {
			state = "not there"
		}
		c.found.add(NoDeductUnlessDone, "flag %s: deducted %v, operation %s", g.flag, g.deducts, state)
	}
	for _, r := range g.restores {
		if g.state != history.Restored || !slices.Contains(g.deducts, r) {
			c.found.add(NoRestoreWithoutDeduct, "flag %s: restored %v, deducted %v, operation %s", g.flag, g.restores,
				g.deducts, g.state)
			break
		}
	}
}

// checkOrder checks one order against its operation and its flow rows, and by itself.
func (c *comparison) checkOrder(n int) {
	g := &c.group
	if !g.order {
		if len(g.deducts) > 0 || len(g.restores) > 0 || g.operations > 0 {
			c.found.add(FlowHasOrder, "flag %s: operation %s, deducted %v, restored %v, and no order", g.flag, g.state,
				g.deducts, g.restores)
		}
		if g.orphan {
			c.found.add(OrderItemsValid, "order %s: items %v without an order", g.flag, g.items)
		}
		return
	}
	if len(g.deducts) > 0 && !slices.Equal(g.deducts, g.items) ||
		len(g.restores) > 0 && !slices.Equal(g.restores, g.items) ||
		len(g.op) > 0 && !slices.Equal(g.op, g.items) {
		c.found.add(FlowMatchesOrder, "order %s: items %v, operation %v, deducted %v, restored %v", g.flag, g.items, g.op,
			g.deducts, g.restores)
	}
	c.checkStatus()
	c.checkItems()
	if n >= 0 && c.ledger.ops[n].order == g.row.id && !slices.Equal(g.items, c.h.Items(n)) {
		c.found.add(AcknowledgedOrderSame, "order %s: items %v, sent %v", g.flag, g.items, c.h.Items(n))
	}
}

func (c *comparison) checkStatus() {
	g := &c.group
	status, outcome, state := g.row.status, g.row.outcome, g.state
	agrees, kept := false, outcome == status
	switch status {
	case history.Confirmed:
		agrees = state == history.Done
	case history.Rejected:
		agrees = state == history.Rejected
	case history.Cancelled:
		agrees = state == history.Cancelled || state == history.Restored
		// Confirmed first and cancelled then; a tombstone was never confirmed.
		kept = outcome == history.Cancelled || outcome == history.Confirmed && state != history.Cancelled
	case history.Pending, history.Cancelling:
		c.found.add(OrderSettled, "order %s: %s, operation %s", g.flag, status, state)
		agrees, kept = true, outcome == history.NoStatus || status == history.Cancelling && outcome == history.Confirmed
	default:
	}
	if !agrees {
		name := state.String()
		if g.operations == 0 {
			name = "not there"
		}
		c.found.add(OrderMatchesOperation, "order %s: %s, operation %s", g.flag, status, name)
	}
	if !kept {
		c.found.add(OrderOutcomeKept, "order %s: %s, first outcome %q, operation %s", g.flag, status, outcome, state)
	}
}

func (c *comparison) checkItems() {
	g := &c.group
	valid, priced := len(g.items) > 0, true
	sum := int64(0)
	for i, it := range g.items {
		if it.Num <= 0 || i > 0 && it.GoodsID == g.items[i-1].GoodsID {
			valid = false
		}
		if want, ours := c.prices[it.GoodsID]; ours && want != g.prices[i] {
			priced = false
		}
		sum += g.prices[i] * it.Num
	}
	if !valid {
		c.found.add(OrderItemsValid, "order %s: items %v", g.flag, g.items)
	}
	if !priced {
		c.found.add(OrderPricesRight, "order %s: items %v at %v", g.flag, g.items, g.prices)
	}
	if sum != g.row.total {
		c.found.add(OrderTotalRight, "order %s: total %d, items come to %d", g.flag, g.row.total, sum)
	}
}
