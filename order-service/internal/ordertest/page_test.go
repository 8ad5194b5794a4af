package ordertest_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"orderstock/order-service/order"
	"orderstock/pkg/mysqldb"
	"orderstock/pkg/operation"
)

func pageOf(t *testing.T, body string) (ids []string, next string) {
	t.Helper()
	var page struct {
		Orders []struct {
			ID    string
			Items []struct{ Num int64 }
		}
		Next string
	}
	must(t, json.Unmarshal([]byte(body), &page))
	for _, o := range page.Orders {
		if len(o.Items) == 0 {
			t.Errorf("order %s comes without its items", o.ID)
		}
		ids = append(ids, o.ID)
	}
	return ids, page.Next
}

// A page for followers ends before orders that others may still precede, and its cursor stays where it is.
func TestFollowersMissNothing(t *testing.T) {
	w := newWorld(t)
	r := w.replica(enough)
	var aged []string
	const after = time.Minute // as documented
	for _, age := range []time.Duration{3 * after, after + 5*time.Second, after / 2, 0} {
		at := time.Now().Add(-age).UTC().Truncate(time.Microsecond)
		o, _, err := r.store.Insert(t.Context(), order.Order{
			ID: ids.at(at), Status: order.Pending, CreatedAt: at, UpdatedAt: at,
			Items: []operation.Item{{GoodsID: 1, Num: 1}}, Prices: []int64{1},
		})
		must(t, err)
		aged = append(aged, o.Flag())
	}
	for _, c := range []struct {
		query, next string
		want        []string
	}{
		{"", "", aged},
		{"follow=false", "", aged},
		{"follow=true", aged[1], aged[:2]},
		{"follow=true&limit=1", aged[0], aged[:1]},
		{"follow=true&after=" + aged[1], aged[1], nil},
		{"follow=true&after=" + aged[3], aged[3], nil},
		{"follow=true&status=CONFIRMED", "", nil},
	} {
		got, next := pageOf(t, r.call("GET", "/v1/orders?"+c.query, "").body)
		if !slices.Equal(got, c.want) || next != c.next {
			t.Errorf("%q: %v, next %q; want %v, next %q", c.query, got, next, c.want, c.next)
		}
	}
	if a := r.call("GET", "/v1/orders?follow=yes", ""); a.status != http.StatusUnprocessableEntity {
		t.Errorf("follow=yes is answered %d", a.status)
	}
	// That holds because an order is not inserted long after its id was drawn.
	late := order.Order{
		ID: ids.at(time.Now()), Status: order.Pending,
		Items: []operation.Item{{GoodsID: 1, Num: 1}}, Prices: []int64{1},
	}
	late.InsertBefore = time.Now().Add(-time.Millisecond)
	if _, _, err := r.store.Insert(t.Context(), late); !errors.Is(err, order.ErrUnavailable) {
		t.Errorf("an insert after its time: %v, want ErrUnavailable", err)
	}
	if _, err := r.store.Get(t.Context(), late.ID); !errors.Is(err, order.ErrNotFound) {
		t.Errorf("it was inserted: %v", err)
	}
}

// While the database does not answer, reads and cancellations fail in time, including the ones that wait for a slot,
// and nothing has changed.
func TestReadsAndCancelsEndInTime(t *testing.T) {
	w := newWorld(t)
	w.restock(1001, 10)
	cfg := enough
	cfg.ReadTimeout, cfg.MaxInFlight = 300*time.Millisecond, 4
	r := w.replica(cfg)
	a := r.place("", 1001, 1)
	id := a.id(t)

	pool, err := w.orderDB.DB()
	must(t, err)
	conn, err := pool.Conn(t.Context())
	must(t, err)
	defer func() { must(t, conn.Close()) }()
	for _, statement := range []string{"SET SESSION wait_timeout = 120", "LOCK TABLES orders WRITE"} {
		_, err := conn.ExecContext(t.Context(), statement)
		must(t, err)
	}
	var (
		clients sync.WaitGroup
		mu      sync.Mutex
		heard   = map[string]int{}
	)
	// Again, if all who waited for a slot came to one in the last moment of their time: they hear "unavailable".
	for begun := time.Now(); heard["GET overloaded"] == 0 || heard["POST overloaded"] == 0; {
		start := time.Now()
		if start.Sub(begun) > 10*time.Second {
			t.Fatalf("nobody waited for a slot in vain: %v", heard)
		}
		for _, call := range []struct{ method, path string }{
			{"GET", "/v1/orders"}, {"GET", "/v1/orders/" + a.order.ID}, {"POST", "/v1/orders/" + a.order.ID + "/cancel"},
		} {
			for range 12 {
				clients.Go(func() {
					got := r.call(call.method, call.path, "")
					if got.status != http.StatusServiceUnavailable || got.retry == "" {
						t.Errorf("%s %s: %d %s", call.method, call.path, got.status, got.body)
					}
					mu.Lock()
					heard[call.method+" "+got.order.Code]++
					mu.Unlock()
				})
			}
		}
		clients.Wait()
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("answered after %v: %v", took, heard)
		}
	}
	_, err = conn.ExecContext(t.Context(), "UNLOCK TABLES")
	must(t, err)
	r.wantOrder(id, order.Confirmed, order.Confirmed)
	patient := w.replica(enough)
	patient.call("GET", "/v1/orders", "").want(t, http.StatusOK)
	patient.cancel(a.order.ID).want(t, http.StatusOK)
	w.wantLevel(1001, 10)
}

// While orders are placed, the database stands still for a page, which fails or is late. The next page is served.
func TestAPageThatHadToWaitKeepsNoOtherAway(t *testing.T) {
	const limit = 8 * time.Second // of a page; nine times the time that each waits here is more
	for name, c := range map[string]struct {
		lockWait, still time.Duration
		status          int
	}{
		"it fails":    {time.Second, time.Minute, http.StatusServiceUnavailable},
		"it succeeds": {time.Minute, 2 * time.Second, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.restock(1, 10)
			w.orderDB = open(t, w.orderDSN, mysqldb.Options{LockWait: c.lockWait})
			r := w.replica(order.Config{ReadTimeout: limit, ConfirmBudget: time.Minute, PendingLimit: time.Minute})
			placed := r.placeHeld("", 1, 1)
			must(t, w.orderDB.Connection(func(tx *gorm.DB) error {
				for _, statement := range []string{"SET SESSION wait_timeout = 600", "LOCK TABLES orders WRITE"} {
					must(t, tx.Exec(statement).Error)
				}
				first := make(chan answer, 1)
				go func() { first <- r.call("GET", "/v1/orders", "") }()
				select {
				case a := <-first:
					a.want(t, c.status)
					return tx.Exec("UNLOCK TABLES").Error
				case <-time.After(c.still):
				}
				must(t, tx.Exec("UNLOCK TABLES").Error)
				(<-first).want(t, c.status)
				return nil
			}))
			if len(placed) > 0 {
				t.Fatal("no order is in flight")
			}
			r.call("GET", "/v1/orders", "").want(t, http.StatusOK)
			w.wire.heal()
			(<-placed).want(t, http.StatusCreated)
		})
	}
}
