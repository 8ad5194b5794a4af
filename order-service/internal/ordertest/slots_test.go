package ordertest_test

import (
	"context"
	"testing"
	"time"

	"orderstock/order-service/order"
)

// slowReads is a store whose reads of single orders wait while slow is open, up to as many as there are slots. Its
// first page panics.
type slowReads struct {
	order.Store
	entered chan struct{}
	slow    chan struct{}
	paged   bool
}

func (s *slowReads) Get(ctx context.Context, id int64) (order.Order, error) {
	select {
	case s.entered <- struct{}{}:
		<-s.slow
	default:
	}
	return s.Store.Get(ctx, id)
}

func (s *slowReads) Page(ctx context.Context, r order.Range) ([]order.Order, bool, error) {
	if !s.paged {
		s.paged = true
		panic("the first page")
	}
	return s.Store.Page(ctx, r)
}

// withStore returns a service over the replica's ports and another store.
func (r *replica) withStore(t *testing.T, store order.Store, cfg order.Config) *order.Service {
	t.Helper()
	s := order.NewService(store, r.stock, nil, &ids, cfg)
	t.Cleanup(func() { must(t, s.Close(context.WithoutCancel(t.Context()))) })
	return s
}

func TestACancellationDoesNotWaitForReaders(t *testing.T) {
	w, r := serve(t, enough, 10)
	id := r.place("", 1, 1).id(t)
	const slots = 8
	store := &slowReads{Store: r.store, entered: make(chan struct{}, slots), slow: make(chan struct{})}
	service := r.withStore(t, store, order.Config{ReadTimeout: time.Minute, ConfirmBudget: time.Minute})
	read := make(chan error, slots)
	for range slots {
		go func() {
			_, err := service.Get(t.Context(), id)
			read <- err
		}()
	}
	eventually(t, "readers have all slots", func() bool { return len(store.entered) == slots })
	cancelled := make(chan error, 1)
	go func() {
		_, err := service.Cancel(t.Context(), id)
		cancelled <- err
	}()
	select {
	case err := <-cancelled:
		must(t, err)
	case <-time.After(20 * time.Second):
		t.Error("the cancellation waits for the readers")
	}
	close(store.slow)
	for range slots {
		must(t, <-read)
	}
	w.wantLevel(1, 10)
}

func TestAPanicInAReadLeavesItsSlot(t *testing.T) {
	_, r := serve(t, enough, 1)
	service := r.withStore(t, &slowReads{Store: r.store}, order.Config{ReadTimeout: 20 * time.Second})
	func() {
		defer func() { _ = recover() }()
		_, _, _ = service.Page(t.Context(), order.Range{Limit: 1}, false)
	}()
	_, _, err := service.Page(t.Context(), order.Range{Limit: 1}, false)
	must(t, err)
}
