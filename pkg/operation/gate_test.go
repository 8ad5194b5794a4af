package operation_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"orderstock/pkg/operation"
)

// deducted is the result of a call that locked the rows of its items.
var deducted = operation.Operation{State: operation.Done}

// pass is Pass for a call that must pass.
func pass(t *testing.T, gate *operation.Gate, items []operation.Item) operation.Report {
	t.Helper()
	report, err := gate.Pass(items)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// refused checks that a call for the items does not pass, as product 1 is held.
func refused(t *testing.T, gate *operation.Gate, items []operation.Item) {
	t.Helper()
	report, err := gate.Pass(items)
	if report != nil || !errors.Is(err, operation.Locked{GoodsID: 1}) || !errors.Is(err, operation.ErrLocked) {
		t.Fatalf("product 1 is held: %v", err)
	}
}

func TestAHeldProductRefusesItsCallsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gate operation.Gate
		product, other := []operation.Item{{GoodsID: 1, Num: 1}}, []operation.Item{{GoodsID: 2, Num: 1}}
		both := []operation.Item{product[0], other[0]}
		for _, items := range [][]operation.Item{product, other, both} {
			pass(t, &gate, items)(deducted, nil)
		}
		pass(t, &gate, both)(operation.Operation{}, fmt.Errorf("deduct: %w", operation.Locked{GoodsID: 1}))
		refused(t, &gate, product)
		refused(t, &gate, both)
		pass(t, &gate, other)(deducted, nil)
		refused(t, &gate, product)
		time.Sleep(time.Second)
		pass(t, &gate, product)(deducted, nil)
		pass(t, &gate, both)
		if gate.Any() {
			t.Error("a product is held that is free again")
		}
	})
}

// Of many calls for a held product, one at a time looks again.
func TestOneCallLooksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gate operation.Gate
		items := []operation.Item{{GoodsID: 1, Num: 1}}
		locked := func() { pass(t, &gate, items)(operation.Operation{}, operation.Locked{GoodsID: 1}) }
		locked()
		time.Sleep(time.Second)
		var (
			passed atomic.Int64
			all    sync.WaitGroup
		)
		for range 50 {
			all.Go(func() {
				if _, err := gate.Pass(items); err == nil {
					passed.Add(1)
				}
			})
		}
		all.Wait()
		if n := passed.Load(); n != 1 {
			t.Fatalf("%d calls passed, want 1", n)
		}
		// That call never ends; another may look.
		time.Sleep(10 * time.Second)
		locked()
		refused(t, &gate, items)
	})
}

// A look that finds nothing out leaves the next one to another call, at once.
func TestALookIsGivenBack(t *testing.T) {
	for name, result := range map[string]struct {
		op  operation.Operation
		err error
	}{
		"not made":           {},
		"failed":             {err: errors.New("cut")},
		"recorded before":    {op: operation.Operation{State: operation.Done, Repeat: true}},
		"cancelled in time":  {op: operation.Operation{State: operation.Cancelled}},
		"another product is": {err: operation.Locked{GoodsID: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var gate operation.Gate
				items := []operation.Item{{GoodsID: 1, Num: 1}}
				inFlight := pass(t, &gate, items)
				pass(t, &gate, items)(operation.Operation{}, operation.Locked{GoodsID: 1})
				time.Sleep(time.Second)
				look := pass(t, &gate, items)
				inFlight(result.op, result.err) // it did not look, and gives nothing back
				refused(t, &gate, items)
				look(result.op, result.err)
				next := pass(t, &gate, items)
				look(deducted, nil) // only the first end counts
				refused(t, &gate, items)
				next(operation.Operation{State: operation.Restored}, nil)
				pass(t, &gate, items)
				pass(t, &gate, items)
			})
		})
	}
}

// Products that nobody orders again take no memory.
func TestHeldProductsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gate operation.Gate
		for id := int64(1); id <= 10_000; id++ {
			pass(t, &gate, nil)(operation.Operation{}, operation.Locked{GoodsID: id})
		}
		if !gate.Any() {
			t.Fatal("no product is held")
		}
		time.Sleep(time.Minute)
		pass(t, &gate, []operation.Item{{GoodsID: 20_000, Num: 1}})
		if gate.Any() {
			t.Error("products are remembered that nobody has asked for in a minute")
		}
	})
}
