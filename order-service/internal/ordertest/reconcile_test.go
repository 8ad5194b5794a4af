package ordertest_test

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"orderstock/order-service/order"
	"orderstock/pkg/operation"
)

// reconcile runs rounds until none of the replica's orders is older than limit and unsettled.
func reconcile(t *testing.T, r *replica, limit time.Duration) {
	t.Helper()
	reconciler := r.reconciler()
	eventually(t, "nothing is left to reconcile", func() bool {
		if _, err := reconciler.Round(t.Context()); err != nil {
			t.Log(err)
			return false
		}
		var left int64
		must(t, r.w.orderDB.Table("orders").Where("status IN ?", []string{"PENDING", "CANCELLING"}).Count(&left).Error)
		if left > 0 {
			time.Sleep(limit / 10)
		}
		return left == 0
	})
}

func (r *replica) reconciler() *order.Reconciler {
	return order.NewReconciler(r.Service, quiet)
}

// stuck is an order as a process that died left it.
type stuck struct {
	name string
	// age of the order.
	age time.Duration
	// prepare brings the stock side and the order to where the process died.
	prepare func(w *world, r *replica, o order.Order)
	goods   int64

	status, outcome order.Status
	reason          string
	state           operation.State
	level           int64 // of goods that began with 10, for an order of 4
}

func deducted(w *world, _ *replica, o order.Order) {
	_, err := w.client.Deduct(w.t.Context(), o.Flag(), o.Items)
	must(w.t, err)
}

func moved(from, to order.Status) func(w *world, r *replica, o order.Order) {
	return func(w *world, r *replica, o order.Order) {
		ok, err := r.store.Move(w.t.Context(), order.Move{ID: o.ID, From: from, To: to, Reason: order.ReasonClient})
		must(w.t, err)
		if !ok {
			w.t.Fatalf("order is not at %s", from)
		}
		// As long ago as the order, so that the reconciler takes it.
		must(w.t, w.orderDB.Exec("UPDATE orders SET updated_at = created_at WHERE id = ?", o.ID).Error)
	}
}

func then(steps ...func(*world, *replica, order.Order)) func(*world, *replica, order.Order) {
	return func(w *world, r *replica, o order.Order) {
		for _, step := range steps {
			step(w, r, o)
		}
	}
}

func flagCancelled(w *world, _ *replica, o order.Order) {
	_, err := w.client.Cancel(w.t.Context(), o.Flag())
	must(w.t, err)
}

func soldOut(w *world, _ *replica, o order.Order) {
	_, err := w.client.Deduct(w.t.Context(), "another-"+o.Flag(),
		[]operation.Item{{GoodsID: o.Items[0].GoodsID, Num: 8}})
	must(w.t, err)
}

func flagTaken(w *world, _ *replica, o order.Order) {
	_, err := w.client.Deduct(w.t.Context(), o.Flag(), []operation.Item{{GoodsID: o.Items[0].GoodsID, Num: 1}})
	must(w.t, err)
}

// Fault F: the order row had no state, and nothing settled it after a crash.
func TestFaultF_EveryStuckOrderIsDrivenToItsEnd(t *testing.T) {
	const young, old = 10 * time.Second, 2 * time.Minute
	w := newWorld(t)
	r := w.replica(order.Config{})
	for i, s := range []stuck{
		{
			name: "died after the insert", age: young,
			status: order.Confirmed, outcome: order.Confirmed, state: operation.Done, level: 6,
		},
		{
			name: "died after the insert, sold out since", age: young, prepare: soldOut,
			status: order.Rejected, outcome: order.Rejected, state: operation.Rejected, level: 2,
		},
		{
			name: "died after the deduction", age: young, prepare: deducted,
			status: order.Confirmed, outcome: order.Confirmed, state: operation.Done, level: 6,
		},
		{
			name: "died after the deduction, long ago", age: old, prepare: deducted,
			status: order.Confirmed, outcome: order.Confirmed, state: operation.Done, level: 6,
		},
		{
			name: "died after the rejection", age: young, prepare: then(soldOut, deducted),
			status: order.Rejected, outcome: order.Rejected, state: operation.Rejected, level: 2,
		},
		{
			name: "never deducted, long ago", age: old,
			status: order.Cancelled, outcome: order.Cancelled, reason: order.ReasonExpired,
			state: operation.Cancelled, level: 10,
		},
		{
			name: "wish to cancel, nothing deducted", age: young, prepare: moved(order.Pending, order.Cancelling),
			status: order.Cancelled, outcome: order.Cancelled, reason: order.ReasonClient, state: operation.Cancelled, level: 10,
		},
		{
			name: "wish to cancel, deducted since", age: young, prepare: then(moved(order.Pending, order.Cancelling),
				deducted),
			status: order.Cancelled, outcome: order.Cancelled, reason: order.ReasonClient, state: operation.Restored, level: 10,
		},
		{
			name: "wish to cancel, rejected since", age: young, prepare: then(soldOut,
				moved(order.Pending, order.Cancelling), deducted),
			status: order.Rejected, outcome: order.Rejected, state: operation.Rejected, level: 2,
		},
		{
			name: "wish to cancel a confirmed order", age: young,
			prepare: then(deducted, moved(order.Pending, order.Confirmed), moved(order.Confirmed, order.Cancelling)),
			status:  order.Cancelled, outcome: order.Confirmed, reason: order.ReasonClient, state: operation.Restored, level: 10,
		},
		{
			name: "flag cancelled, order not", age: young, prepare: flagCancelled,
			status: order.Cancelled, outcome: order.Cancelled, reason: order.ReasonForeign,
			state: operation.Cancelled, level: 10,
		},
		{
			name: "goods that the stock service does not know", age: young, goods: 404,
			status: order.Cancelled, outcome: order.Cancelled, reason: order.ReasonUnknown,
			state: operation.Cancelled, level: 10,
		},
		{
			name: "flag in use for something else", age: young, prepare: flagTaken,
			status: order.Cancelled, outcome: order.Cancelled, reason: order.ReasonConflict, state: operation.Done, level: 9,
		},
	} {
		t.Run(s.name, func(t *testing.T) {
			goods := int64(1000 + i)
			w.restock(goods, 10)
			o := w.insert(r, s.age, cmp.Or(s.goods, goods), 4)
			if s.prepare != nil {
				s.prepare(w, r, o)
			}
			reconciler := r.reconciler()
			more, err := reconciler.Round(t.Context())
			if more || err != nil {
				t.Fatalf("one round: more %v, %v", more, err)
			}
			end := r.wantOrder(o.ID, s.status, s.outcome)
			if s.reason != "" && end.Reason != s.reason {
				t.Errorf("reason %q, want %q", end.Reason, s.reason)
			}
			if state := w.state(o); state != s.state {
				t.Errorf("operation is %q, want %q", state, s.state)
			}
			w.wantLevel(goods, s.level)

			// Once more changes nothing, and a deduction that was on its way comes too late.
			_, err = reconciler.Round(t.Context())
			must(t, err)
			if op, err := w.client.Deduct(t.Context(), o.Flag(), o.Items); err == nil && op.State != s.state {
				t.Errorf("a late deduction gets %s, want %s", op.State, s.state)
			}
			r.wantOrder(o.ID, s.status, s.outcome)
			w.wantLevel(goods, s.level)
		})
	}
}

func TestYoungOrdersAreLeftAlone(t *testing.T) {
	w, r := serve(t, order.Config{PendingLimit: time.Minute}, 10)
	o := w.insert(r, time.Second, 1, 4)
	_, err := r.reconciler().Round(t.Context())
	must(t, err)
	r.wantOrder(o.ID, order.Pending, "")
}

// The clock was set while the orders were placed: their ids are a day behind, or ahead.
func TestAnOrdersAgeIsNotItsIDs(t *testing.T) {
	w, r := serve(t, order.Config{}, 10)
	for _, off := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		at := time.Now().Add(-10 * time.Second).UTC().Truncate(time.Microsecond)
		o := r.insertAs(ids.at(at.Add(off)), at, 1, 1)
		w.age(o, 10*time.Second)
		must(t, r.MeasureBacklog(t.Context()))
		_, err := r.reconciler().Round(t.Context())
		must(t, err)
		if oldest := time.Duration(r.Stats().OldestMillis.Load()) * time.Millisecond; oldest < 10*time.Second ||
			oldest > time.Minute {
			t.Errorf("id off by %s: the oldest order is reported as %s old", off, oldest)
		}
		r.wantOrder(o.ID, order.Confirmed, order.Confirmed)
	}
	w.wantLevel(1, 8)
}

// The replica that placed the order, or wrote the wish to cancel it, has a clock that is wrong.
func TestAnOrdersAgeIsTheDatabases(t *testing.T) {
	const limit = 30 * time.Second
	w, r := serve(t, order.Config{PendingLimit: limit, CancelAfter: time.Hour}, 10)
	reconciler := r.reconciler()
	for _, off := range []time.Duration{-2 * time.Minute, 24 * time.Hour} {
		at := time.Now().Add(off).UTC().Truncate(time.Microsecond)
		o := r.insertAs(ids.at(at), at, 1, 1)
		_, err := reconciler.Round(t.Context())
		must(t, err)
		r.wantOrder(o.ID, order.Pending, "") // its process still works on it
		w.age(o, limit)
		_, err = reconciler.Round(t.Context())
		must(t, err)
		r.wantOrder(o.ID, order.Confirmed, order.Confirmed)
	}
	w.wantLevel(1, 8)
}

// A replica that does not reconcile shows the backlog, with the cancellations in it.
func TestEveryReplicaShowsTheBacklog(t *testing.T) {
	w := newWorld(t)
	r := w.replica(order.Config{})
	w.insert(r, 20*time.Second, 1, 1)
	cancelling := w.insert(r, 0, 1, 1)
	_, err := r.store.Move(t.Context(), order.Move{ID: cancelling.ID, From: order.Pending, To: order.Cancelling})
	must(t, err)
	w.age(cancelling, 40*time.Second)
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	working.Go(func() { r.WatchBacklog(ctx, 10*time.Millisecond, quiet) })
	defer working.Wait()
	defer stop()
	stats := r.Stats()
	eventually(t, "the backlog is shown", func() bool {
		return stats.Backlog.Load() == 2 && stats.OldestMillis.Load() >= 40_000
	})
	w.age(cancelling, -time.Hour)
	eventually(t, "the backlog is shown again", func() bool {
		return stats.Backlog.Load() == 1 && stats.OldestMillis.Load() < 40_000
	})
}

func TestARoundIsBoundedAndTheNextGoesOn(t *testing.T) {
	w, r := serve(t, order.Config{ReconcileBatch: 10}, 1000)
	for range 25 {
		w.insert(r, time.Minute/2, 1, 1)
	}
	reconciler := order.NewReconciler(r.Service, quiet)
	for i, want := range []int64{15, 5, 0} {
		more, err := reconciler.Round(t.Context())
		must(t, err)
		var left int64
		must(t, w.orderDB.Table("orders").Where("status = 'PENDING'").Count(&left).Error)
		if left != want || more != (want > 0) {
			t.Errorf("after round %d: %d left, more %v; want %d", i+1, left, more, want)
		}
	}
	w.wantLevel(1, 975)
	must(t, r.MeasureBacklog(t.Context()))
	if _, err := reconciler.Round(t.Context()); err != nil || r.Stats().Backlog.Load() != 0 {
		t.Errorf("backlog %d, %v", r.Stats().Backlog.Load(), err)
	}
}

func TestAnOrderThatCannotBeSettledDoesNotHideTheOthers(t *testing.T) {
	w, r := serve(t, order.Config{ReconcileBatch: 1}, 10)
	var all []order.Order
	for range 4 {
		all = append(all, w.insert(r, time.Minute/2, 1, 1))
	}
	// The ledger of the oldest is damaged: done, without its flow rows.
	deducted(w, r, all[0])
	must(t, w.stockDB.Exec("DELETE FROM stock_flow WHERE flag = ?", all[0].Flag()).Error)
	reconciler := order.NewReconciler(r.Service, quiet)
	for range len(all) + 1 {
		_, err := reconciler.Round(t.Context())
		must(t, err)
	}
	r.wantOrder(all[0].ID, order.Pending, "") // nothing is decided by a damaged ledger
	for _, o := range all[1:] {
		r.wantOrder(o.ID, order.Confirmed, order.Confirmed)
	}
}

func TestTheReconcilerShowsItsBacklogAndWaitsForTheStockService(t *testing.T) {
	w, r := serve(t, order.Config{CancelAfter: time.Hour}, 10)
	w.insert(r, 40*time.Second, 1, 1)
	w.insert(r, 20*time.Second, 1, 1)
	w.wire.breakAll(func(*http.Request) fault { return refuse })
	reconciler := r.reconciler()
	if _, err := reconciler.Round(t.Context()); !errors.Is(err, operation.ErrUnavailable) {
		t.Errorf("a round without the stock service: %v", err)
	}
	must(t, r.MeasureBacklog(t.Context()))
	stats := r.Stats()
	if oldest := time.Duration(stats.OldestMillis.Load()) * time.Millisecond; stats.Backlog.Load() != 2 ||
		oldest < 40*time.Second || oldest > 60*time.Second {
		t.Errorf("backlog %d, oldest %s", stats.Backlog.Load(), oldest)
	}
	w.wire.heal()
	reconcile(t, r, 0)
	w.wantLevel(1, 8)
}

// A reconciler loses the lead while its calls are the breaker's probes of the stock service. The replica takes orders
// once the service is back.
func TestOrdersAreTakenAgainAfterTheReconcilersCallsWereWithdrawn(t *testing.T) {
	const probes = 5
	w, r := serve(t, order.Config{ConfirmBudget: time.Second, PendingLimit: time.Second}, 1000)
	for range probes {
		w.insert(r, time.Minute/2, 1, 1)
	}
	w.wire.breakAll(deductions(drop))
	o := w.insert(r, 0, 1, 1)
	pass := func() error {
		_, err := r.stock.Pass(t.Context(), nil)
		return err
	}
	eventually(t, "the breaker opens", func() bool {
		_, _ = r.stock.Deduct(t.Context(), o.Flag(), o.Items)
		return pass() != nil
	})
	eventually(t, "the breaker tries again", func() bool { return pass() == nil })

	w.wire.breakAll(deductions(hold))
	ctx, loseLead := context.WithCancel(t.Context())
	var leading sync.WaitGroup
	leading.Go(func() { _ = r.reconciler().Run(ctx) })
	eventually(t, "the reconciler's calls are under way", func() bool { return w.wire.holding() >= probes })
	loseLead()
	leading.Wait()
	w.wire.heal()
	eventually(t, "an order is confirmed", func() bool { return r.place("", 1, 1).status == http.StatusCreated })
	reconcile(t, r, time.Second)
	var confirmed int64
	must(t, w.orderDB.Table("orders").Where("status = 'CONFIRMED'").Count(&confirmed).Error)
	w.wantLevel(1, 1000-confirmed)
}

func TestAReconcilerThatCannotReachTheStockServiceGivesUp(t *testing.T) {
	for name, broken := range map[string]struct {
		fault  fault
		status order.Status
		err    error
	}{
		"refused, pending":         {refuse, order.Pending, operation.ErrUnavailable},
		"unanswered, pending":      {drop, order.Pending, operation.ErrUnavailable},
		"unanswered, to cancel it": {drop, order.Cancelling, operation.ErrUnknownOutcome},
	} {
		t.Run(name, func(t *testing.T) {
			w, r := serve(t, order.Config{ReconcileInterval: time.Millisecond, ReconcileMaxPause: time.Millisecond}, 10)
			o := w.insert(r, time.Minute/2, 1, 1)
			if broken.status == order.Cancelling {
				moved(order.Pending, order.Cancelling)(w, r, o)
			}
			w.wire.breakAll(func(*http.Request) fault { return broken.fault })
			reconciler := order.NewReconciler(r.Service, quiet)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() { ended <- reconciler.Run(ctx) }()
			select {
			case err := <-ended:
				if !errors.Is(err, broken.err) {
					t.Errorf("it gives up with %v, want %v", err, broken.err)
				}
			case <-time.After(20 * time.Second):
				cancel()
				t.Errorf("it keeps at it; ended by its context with %v", <-ended)
			}
			w.wire.heal()
			reconcile(t, r, 0)
		})
	}
}

// insert writes a pending order of that age, as a process would that died right after.
func (w *world) insert(r *replica, age time.Duration, goodsID, num int64) order.Order {
	w.t.Helper()
	at := time.Now().Add(-age).UTC().Truncate(time.Microsecond)
	o := r.insertAs(ids.at(at), at, goodsID, num)
	w.age(o, age)
	return o
}

// insertAs writes a pending order with that id, placed at that time by the replica's clock.
func (r *replica) insertAs(id int64, at time.Time, goodsID, num int64) order.Order {
	r.w.t.Helper()
	stored, inserted, err := r.store.Insert(r.w.t.Context(), order.Order{
		ID: id, Status: order.Pending, CreatedAt: at, UpdatedAt: at,
		Items: []operation.Item{{GoodsID: goodsID, Num: num}}, Prices: []int64{250}, Total: num * 250,
	})
	must(r.w.t, err)
	if !inserted {
		r.w.t.Fatal("not inserted")
	}
	return stored
}

// age makes the order's last change older by the database's clock.
func (w *world) age(o order.Order, by time.Duration) {
	w.t.Helper()
	must(w.t, w.orderDB.Exec("UPDATE orders SET updated_at = updated_at - INTERVAL ? MICROSECOND WHERE id = ?",
		by.Microseconds(), o.ID).Error)
}
