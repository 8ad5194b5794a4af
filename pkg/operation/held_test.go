package operation_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"orderstock/pkg/operation"
)

func TestAHeldProductRefusesItsCallsAlone(t *testing.T) {
	var held operation.Held
	product, other := []operation.Item{{GoodsID: 1, Num: 1}}, []operation.Item{{GoodsID: 2, Num: 1}}
	both := []operation.Item{product[0], other[0]}
	for _, items := range [][]operation.Item{product, other, both} {
		if err := held.Pass(items); err != nil {
			t.Errorf("nothing is held: %v", err)
		}
	}
	held.Learn(both, fmt.Errorf("deduct: %w", operation.Locked{GoodsID: 1}))
	for _, items := range [][]operation.Item{product, both} {
		if err := held.Pass(items); !errors.Is(err, operation.Locked{GoodsID: 1}) || !errors.Is(err, operation.ErrLocked) {
			t.Errorf("held: %v", err)
		}
	}
	if err := held.Pass(other); err != nil {
		t.Errorf("another product: %v", err)
	}
	held.Learn(product, nil)
	if err := held.Pass(both); err != nil || held.Any() {
		t.Errorf("free again: %v, %v", err, held.Any())
	}
}

// Of many calls for a held product, one at a time looks again.
func TestOneCallLooksAgain(t *testing.T) {
	var held operation.Held
	items := []operation.Item{{GoodsID: 1, Num: 1}}
	held.Learn(items, operation.Locked{GoodsID: 1})
	var passed atomic.Int64
	for deadline := time.Now().Add(20 * time.Second); passed.Load() == 0 && time.Now().Before(deadline); {
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if held.Pass(items) == nil {
					passed.Add(1)
				}
			})
		}
		all.Wait()
	}
	if n := passed.Load(); n != 1 {
		t.Errorf("%d calls passed, want 1", n)
	}
	// A look that found nothing out leaves the next one to another call.
	held.Learn(items, errors.New("cut"))
	for deadline := time.Now().Add(20 * time.Second); held.Pass(items) != nil; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nobody looks again")
		}
	}
}
