package tables

import (
	"reflect"
	"testing"

	"orderstock/loadtest/history"
	"orderstock/loadtest/verify"
)

// The first call's answer was lost, and the repeat's may be the first: a read of the order shows nothing else.
func TestAReadIsNoFirstAnswer(t *testing.T) {
	t.Parallel()
	h := &history.History{Path: history.PathOrder, Calls: []history.Call{
		{Kind: history.Place, Failure: history.Broken, Done: 1},
		{Kind: history.Again, Code: 201, Status: history.Confirmed, Replayed: true, Sent: 2, Done: 3},
		{Kind: history.ReadOrder, Code: 200, Status: history.Confirmed, Sent: 4, Done: 5},
	}}
	after := h.Calls[1]
	after.Replayed = false
	c := &change{of: &goodRun{history: h}, table: "calls", what: "Replayed", before: h.Calls[1], after: after}
	if c.exempt() == "" {
		t.Error("an answer that may be the first must be marked as a repeat")
	}
}

// An exemption whose row has lost the field says something that is no longer so.
func TestExemptionsNameFields(t *testing.T) {
	t.Parallel()
	rows := map[string]any{
		"orders": verify.OrderRow{}, "operations": verify.OperationRow{}, "products": verify.ProductRow{},
		"calls": history.Call{}, "asides": history.Aside{},
	}
	for _, e := range exemptions {
		if _, ok := reflect.TypeOf(rows[e.table]).FieldByName(e.what); !ok && e.what != "invented" {
			t.Errorf("a row of %s has no field %s", e.table, e.what)
		}
	}
}
