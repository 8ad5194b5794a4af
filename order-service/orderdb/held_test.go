package orderdb_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"orderstock/order-service/order"
	"orderstock/order-service/orderdb"
	"orderstock/pkg/servers/serverstest"
)

// hold runs a statement in a transaction of another connection and leaves it
// open, as a process does that froze between that statement and the commit.
func hold(t *testing.T, db *gorm.DB, statement string) (release func()) {
	t.Helper()
	tx := db.Begin()
	must(t, tx.Error)
	must(t, tx.Exec("SET SESSION wait_timeout = 600").Error) // for as long as the test needs it
	must(t, tx.Exec(statement).Error)
	once := sync.OnceFunc(func() { must(t, tx.Rollback().Error) })
	t.Cleanup(once)
	return once
}

// whileRepeated calls work with each number from 1 to n in 16 goroutines, while
// others go on calling repeat, which must be refused. It returns how often it was.
func whileRepeated(t *testing.T, n int, work func(i int) error, repeat func() error) (refused int64) {
	t.Helper()
	var (
		others, repeats sync.WaitGroup
		next, told      atomic.Int64
		stop            = make(chan struct{})
		first           = make(chan struct{})
		begun           = sync.OnceFunc(func() { close(first) })
	)
	for range 4 {
		repeats.Go(func() {
			for {
				err := repeat()
				if !errors.Is(err, order.ErrUnavailable) {
					t.Errorf("repeat: %v; want ErrUnavailable", err)
				}
				told.Add(1)
				begun()
				select {
				case <-stop:
					return
				case <-time.After(5 * time.Millisecond): // a client that tries again
				}
			}
		})
	}
	began := time.Now()
	for range 16 {
		others.Go(func() {
			for i := int(next.Add(1)); i <= n; i = int(next.Add(1)) {
				if err := work(i); err != nil {
					t.Errorf("work: %v", err)
				}
			}
		})
	}
	others.Wait()
	<-first
	if took := time.Since(began); took > 45*time.Second {
		t.Errorf("the work took %s", took)
	}
	close(stop)
	repeats.Wait()
	return told.Load()
}

// A process froze with an order inserted and not committed; its client repeats
// the key here. The orders of other keys go through.
func TestAHeldKeyHoldsNobodyUp(t *testing.T) {
	db, stores := open(t, 1)
	store := stores[0]
	release := hold(t, db, `INSERT INTO orders (id, status, idempotency_key, body_hash, total, created_at, updated_at)
		VALUES (1, 'PENDING', 'held', REPEAT('0', 32), 0, NOW(6), NOW(6))`)
	var ids atomic.Int64
	ids.Store(1000)
	refused := whileRepeated(t, 2000, func(i int) error {
		_, inserted, err := store.Insert(t.Context(), pending(ids.Add(1), fmt.Sprintf("free-%d", i)))
		if err == nil && !inserted {
			err = errors.New("not inserted")
		}
		return err
	}, func() error {
		_, _, err := store.Insert(t.Context(), pending(ids.Add(1), "held"))
		return err
	})
	if refused < 2 {
		t.Errorf("%d repeats were refused, want 2 or more", refused)
	}
	release()
	if _, inserted, err := store.Insert(t.Context(), pending(2, "held")); err != nil || !inserted {
		t.Errorf("once the key is free: %v, %v", inserted, err)
	}
}

// A process froze while it moved an order; the reconciler moves it here, too.
func TestAHeldOrderHoldsNoMovesUp(t *testing.T) {
	db, stores := open(t, 1)
	store := stores[0]
	const n = 1000
	var all sync.WaitGroup
	for id := range int64(n + 1) {
		all.Go(func() {
			_, _, err := store.Insert(t.Context(), pending(id+1, ""))
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	release := hold(t, db, "UPDATE orders SET reason = 'frozen' WHERE id = 1")
	move := func(id int64) error {
		stands, err := store.Move(t.Context(), order.Move{ID: id, From: order.Pending, To: order.Confirmed})
		if err == nil && !stands {
			err = errors.New("it does not stand")
		}
		return err
	}
	whileRepeated(t, n, func(i int) error { return move(int64(i + 1)) }, func() error { return move(1) })
	release()
	must(t, move(1))
}

// Inserts of used keys and moves of the orders that have them, at two replicas:
// they never wait in a circle.
func TestNoDeadlocks(t *testing.T) {
	db, stores := open(t, 2)
	const orders = 300
	for id := range int64(orders) {
		_, _, err := stores[0].Insert(t.Context(), pending(id+1, fmt.Sprintf("key-%d", (id*7919)%orders)))
		must(t, err)
	}
	var ids atomic.Int64
	ids.Store(10_000)
	steps := []order.Status{order.Pending, order.Confirmed, order.Cancelling, order.Cancelled}
	work := []func(*orderdb.DB) error{
		func(s *orderdb.DB) error {
			_, _, err := s.Insert(t.Context(), pending(ids.Add(1), fmt.Sprintf("key-%d", rand.N(2*orders))))
			return err
		},
		func(s *orderdb.DB) error {
			from := rand.N(len(steps))
			_, err := s.Move(t.Context(), order.Move{
				ID: 1 + rand.Int64N(orders), From: steps[from],
				To: steps[(from+1)%len(steps)],
			})
			return err
		},
	}
	var did [2]atomic.Int64
	plain, err := db.DB()
	must(t, err)
	report := serverstest.Deadlock(t, plain, func() {
		end := time.Now().Add(3 * time.Second)
		var all sync.WaitGroup
		for i := range 64 {
			all.Go(func() {
				for time.Now().Before(end) {
					if err := work[i%2](stores[i/2%2]); err != nil && !errors.Is(err, order.ErrUnavailable) {
						t.Error(err)
						return
					}
					did[i%2].Add(1)
				}
			})
		}
		all.Wait()
	})
	t.Logf("%d inserts, %d moves", did[0].Load(), did[1].Load())
	if report != "" {
		t.Errorf("a deadlock: %s", report)
	}
}
