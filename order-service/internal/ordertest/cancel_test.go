package ordertest_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"orderstock/order-service/order"
	"orderstock/pkg/operation"
	"orderstock/pkg/servers/serverstest"
)

func (r *replica) cancel(id string) answer {
	r.w.t.Helper()
	return r.call("POST", "/v1/orders/"+id+"/cancel", "")
}

func TestACancelledOrderGivesItsStockBackOnce(t *testing.T) {
	w, r := serve(t, enough, 10)
	a := r.place("", 1, 4)
	w.wantLevel(1, 6)
	for range 3 {
		r.cancel(a.order.ID).want(t, http.StatusOK, order.Cancelled)
		w.wantLevel(1, 10)
	}
	r.wantOrder(a.id(t), order.Cancelled, order.Confirmed)
}

func TestARejectedOrderCannotBeCancelled(t *testing.T) {
	_, r := serve(t, enough, 1)
	a := r.place("", 1, 4)
	r.cancel(a.order.ID).wantProblem(t, http.StatusConflict, "order_rejected")
	r.wantOrder(a.id(t), order.Rejected, order.Rejected)
	r.cancel("123").wantProblem(t, http.StatusNotFound, "order_not_found")
}

func TestAPendingOrderCanBeCancelled(t *testing.T) {
	t.Parallel()
	w, r := serve(t, order.Config{}, 10)
	w.wire.breakAll(deductions(hold))
	a := r.place("key", 1, 4)
	a.want(t, http.StatusAccepted)
	r.cancel(a.order.ID).want(t, http.StatusOK, order.Cancelled)
	sent := w.wire.holding()
	w.wire.heal() // the deduction arrives, and finds the tombstone
	eventually(t, "the deduction has arrived", func() bool { return w.wire.landed() >= sent })
	o := r.wantOrder(a.id(t), order.Cancelled, order.Cancelled)
	if state := w.state(o); state != operation.Cancelled {
		t.Errorf("operation is %s", state)
	}
	w.wantLevel(1, 10)
	if again := r.place("key", 1, 4); again.status != http.StatusConflict ||
		again.order.Status != order.Cancelled || !again.replayed {
		t.Errorf("the repeat gets %d %s", again.status, again.body)
	}
}

// The client cancels while its order is still being placed, and the placing process ends the order.
func TestTheClientsCancellationKeepsItsReason(t *testing.T) {
	w, r := serve(t, enough, 10)
	w.wire.breakAll(func(r *http.Request) fault {
		switch r.Method {
		case http.MethodPut:
			return hold
		case http.MethodPost:
			return dropReply
		}
		return pass
	})
	placed := make(chan answer, 1)
	go func() { placed <- r.place("", 1, 4) }()
	eventually(t, "the deduction is on its way", func() bool { return w.wire.holding() > 0 })
	var id string
	must(t, w.orderDB.Raw("SELECT CAST(id AS CHAR) FROM orders").Scan(&id).Error)
	r.cancel(id).want(t, http.StatusAccepted, order.Cancelling)
	w.wire.heal()
	if a := <-placed; a.order.Status != order.Cancelled {
		t.Fatalf("got %d %s", a.status, a.body)
	}
	if c := r.call("GET", "/v1/orders/"+id, ""); c.order.Reason != order.ReasonClient {
		t.Errorf("the reason is %q; want %q", c.order.Reason, order.ReasonClient)
	}
}

func TestACancellationOutlivesTheStockServicesAbsence(t *testing.T) {
	t.Parallel()
	w, r := serve(t, order.Config{PendingLimit: 3 * time.Second}, 10)
	a := r.place("", 1, 4)
	w.wire.breakAll(func(*http.Request) fault { return drop })
	r.cancel(a.order.ID).want(t, http.StatusAccepted, order.Cancelling)
	w.wire.heal()
	reconcile(t, r, 3*time.Second)
	r.wantOrder(a.id(t), order.Cancelled, order.Confirmed)
	w.wantLevel(1, 10)
}

// The wish to cancel is written, its answer is lost, and the tries after it find no database.
func TestACancellationThatWasNotAnsweredIsNotRefused(t *testing.T) {
	w := newWorld(t)
	r, proxy := w.cuttable(enough)
	w.restock(1, 10)
	a := r.place("", 1, 4)
	proxy.DropAfter("SET status = 'CANCELLING'")
	if c := r.cancel(a.order.ID); c.status != http.StatusAccepted || c.id(t) != a.id(t) {
		t.Errorf("answered %d %s; want 202 with the order: it may stand or not", c.status, c.body)
	}
	other := w.replica(order.Config{PendingLimit: time.Millisecond})
	other.wantOrder(a.id(t), order.Cancelling, order.Confirmed)
	reconcile(t, other, time.Millisecond)
	other.wantOrder(a.id(t), order.Cancelled, order.Confirmed)
	w.wantLevel(1, 10)
}

// The wish to cancel is written, its answer is lost, the second try finds nothing to change, and the order cannot be
// read after that. A 503 would promise that nothing has changed.
func TestACancellationThatNobodyCanReadIsNotRefused(t *testing.T) {
	w := newWorld(t)
	var updates atomic.Int64
	var dropped atomic.Pointer[serverstest.Proxy]
	r, proxy := w.behind(enough, func(sent []byte) bool {
		if bytes.Contains(sent, []byte("SET status = 'CANCELLING'")) {
			return updates.Add(1) == 1
		}
		if updates.Load() > 1 && bytes.Contains(sent, []byte("SELECT * FROM `orders` WHERE id IN")) {
			dropped.Load().Drop()
		}
		return false
	})
	dropped.Store(proxy)
	w.restock(1, 10)
	a := r.place("", 1, 4)
	if c := r.cancel(a.order.ID); c.status != http.StatusAccepted || c.id(t) != a.id(t) || updates.Load() != 2 {
		t.Errorf("answered %d %s after %d updates; want 202 with the order, after 2", c.status, c.body, updates.Load())
	}
	w.replica(enough).wantOrder(a.id(t), order.Cancelling, order.Confirmed)
}

// An order for a product that is gone must be cancelled. Another process has ended it since, and reading its outcome
// fails.
func TestAnOrderThatCannotBeCancelledIsStillAnswered(t *testing.T) {
	w := newWorld(t)
	cfg := enough
	cfg.PriceTTL = time.Minute
	r, proxy := w.cuttable(cfg)
	w.restock(1, 10)
	r.place("", 1, 1) // the price is known from now on
	placed := r.placeHeld("", 1, 4)
	must(t, w.stockDB.Exec("DELETE FROM stock").Error)
	must(t, w.orderDB.Exec("UPDATE orders SET status = 'CANCELLED', outcome = 'CANCELLED' WHERE status = 'PENDING'").Error)
	proxy.DropAfter("SELECT * FROM `orders` WHERE id IN")
	w.wire.heal()
	if a := <-placed; a.status != http.StatusAccepted || a.order.ID == "0" || a.order.Status != order.Pending {
		t.Errorf("answered %d %s", a.status, a.body)
	}
}

// Nothing was sent, so nothing can have changed: the error says so.
func TestAMoveThatWasNotSentIsRefused(t *testing.T) {
	w := newWorld(t)
	r, proxy := w.cuttable(enough)
	o := w.insert(r, 0, 1, 1)
	proxy.Drop()
	_, err := r.store.Move(t.Context(), order.Move{ID: o.ID, From: order.Pending, To: order.Cancelling})
	if !errors.Is(err, order.ErrUnavailable) || errors.Is(err, order.ErrUnanswered) {
		t.Errorf("got %v; want ErrUnavailable", err)
	}
	w.replica(enough).wantOrder(o.ID, order.Pending, "")
}

// Cancellations raced against the deduction, the confirmation, the reconciler, repeats and each other, with replies
// lost on the way: each order is settled once, the stock of a cancelled one is restored once, and no client sees two
// outcomes.
func TestCancellationsRacedAgainstEverything(t *testing.T) {
	w := newWorld(t)
	replicas := []*replica{
		w.replica(order.Config{PriceTTL: time.Minute}),
		w.replica(order.Config{PriceTTL: time.Minute}),
	}
	// To these, every order is old enough at once.
	eager := []*replica{
		w.replica(order.Config{PendingLimit: time.Nanosecond}),
		w.replica(order.Config{PendingLimit: time.Nanosecond}),
	}
	const orders, stock = 60, 100
	w.restock(1, stock)
	w.wire.breakAll(func(*http.Request) fault {
		switch rand.IntN(12) {
		case 0:
			return drop
		case 1:
			return dropReply
		}
		return pass
	})
	done := make(chan struct{})
	var reconciling, clients sync.WaitGroup
	for _, r := range eager { // two at once: they must not harm each other either
		reconciler := r.reconciler()
		reconciling.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					_, _ = reconciler.Round(t.Context()) // a lost reply is an error that the next round mends
				}
			}
		})
	}
	told := make([]map[order.Status]bool, orders)
	for i := range orders {
		told[i] = map[order.Status]bool{}
		var mu sync.Mutex
		tell := func(a answer) {
			mu.Lock()
			defer mu.Unlock()
			switch a.status {
			case http.StatusCreated, http.StatusConflict:
				told[i][a.order.Status] = true
			}
		}
		key := "race-" + strconv.Itoa(i)
		num := int64(1 + i%4)
		placed := make(chan string, 1)
		clients.Go(func() {
			a := replicas[i%2].place(key, 1, num)
			tell(a)
			placed <- a.order.ID
			tell(replicas[(i+1)%2].place(key, 1, num))
		})
		clients.Go(func() {
			for i%3 == 0 { // while it is placed: as soon as it is written
				if o, err := replicas[0].store.FindByKey(t.Context(), key); err == nil {
					replicas[1].cancel(strconv.FormatInt(o.ID, 10))
					return
				}
				select {
				case <-placed: // refused, so that it never will be; or it ended before
					return
				default:
				}
			}
			if id := <-placed; id != "" && i%3 == 1 {
				var both sync.WaitGroup
				for _, r := range replicas {
					both.Go(func() { r.cancel(id) })
				}
				both.Wait()
			}
		})
	}
	clients.Wait()
	close(done)
	reconciling.Wait()
	w.wire.heal()
	eventually(t, "all orders end", func() bool {
		for _, r := range eager {
			_, _ = r.reconciler().Round(t.Context())
		}
		var left int64
		must(t, w.orderDB.Table("orders").Where("status IN ?", []string{"PENDING", "CANCELLING"}).Count(&left).Error)
		return left == 0
	})

	left := int64(stock)
	all, _, err := replicas[0].store.Page(t.Context(), order.Range{Limit: 1000})
	must(t, err)
	ends := map[order.Status]int{}
	for _, o := range all {
		ends[o.Status]++
		switch state := w.state(o); {
		case o.Status == order.Confirmed && state == operation.Done:
			left -= o.Items[0].Num
		case o.Status == order.Rejected && state == operation.Rejected:
		case o.Status == order.Cancelled && (state == operation.Cancelled || state == operation.Restored):
		default:
			t.Errorf("order %d is %s, its operation %q", o.ID, o.Status, state)
		}
		var number int
		must(t, scanSuffix(o.Key, &number))
		for end := range told[number] {
			if end != o.Outcome {
				t.Errorf("order %d: a client got %s, its outcome is %s", o.ID, end, o.Outcome)
			}
		}
	}
	w.wantLevel(1, left)
	if ends[order.Cancelled] == 0 || ends[order.Confirmed] == 0 {
		t.Errorf("nothing was raced: %v", ends)
	}
	t.Log(ends)
}

func scanSuffix(key string, number *int) (err error) {
	*number, err = strconv.Atoi(key[len("race-"):])
	return err
}
