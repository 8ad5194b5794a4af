package orderdb_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"go.uber.org/goleak"
	"gorm.io/gorm"

	"orderstock/migrations"
	"orderstock/order-service/order"
	"orderstock/order-service/orderdb"
	"orderstock/pkg/mysqldb"
	"orderstock/pkg/operation"
	"orderstock/pkg/servers/serverstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, serverstest.Goroutines()...) }

var must = serverstest.Must

// open returns a migrated database and n stores on it, as n replicas have.
func open(t *testing.T, n int) (*gorm.DB, []*orderdb.DB) {
	t.Helper()
	return openWaiting(t, n, time.Second)
}

// openWaiting is open where a statement waits so long for a row.
func openWaiting(t *testing.T, n int, lockWait time.Duration) (*gorm.DB, []*orderdb.DB) {
	t.Helper()
	cfg, err := mysql.ParseDSN(serverstest.Database(t))
	must(t, err)
	cfg.ParseTime = true
	db, err := mysqldb.Open(cfg.FormatDSN(), mysqldb.Options{LockWait: lockWait})
	must(t, err)
	pool, err := db.DB()
	must(t, err)
	must(t, migrations.Up(t.Context(), pool, migrations.Order))
	stores := make([]*orderdb.DB, n)
	for i := range stores {
		stores[i] = orderdb.New(db)
	}
	t.Cleanup(func() {
		for _, store := range stores {
			store.Close()
		}
		must(t, mysqldb.Close(db))
	})
	return db, stores
}

func pending(id int64, key string) order.Order {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_000, time.UTC)
	return order.Order{
		ID: id, Status: order.Pending, Key: key, Total: 3 * id,
		BodyHash: string(append([]byte{byte(id), '\'', '\\', 0xff}, make([]byte, 28)...)),
		Items:    []operation.Item{{GoodsID: 7, Num: 1}, {GoodsID: 9, Num: 2}}, Prices: []int64{id, id},
		CreatedAt: at, UpdatedAt: at,
	}
}

func TestAnOrderIsReadAsItWasWritten(t *testing.T) {
	_, stores := open(t, 1)
	for id, key := range map[int64]string{1: "", 2: `a key with '"\;-- in it`} {
		key = strings.ReplaceAll(key, " ", "_")
		want := pending(id, key)
		if _, inserted, err := stores[0].Insert(t.Context(), want); err != nil || !inserted {
			t.Fatal(inserted, err)
		}
		got, err := stores[0].Get(t.Context(), id)
		must(t, err)
		if age := time.Since(got.UpdatedAt).Abs(); age > time.Minute { // the database's clock, not the order's
			t.Errorf("updated at %v", got.UpdatedAt)
		}
		want.UpdatedAt = got.UpdatedAt
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Errorf("wrote %+v\nread  %+v", want, got)
		}
		if key == "" {
			continue
		}
		byKey, err := stores[0].FindByKey(t.Context(), key)
		must(t, err)
		if fmt.Sprintf("%+v", byKey) != fmt.Sprintf("%+v", want) {
			t.Errorf("by key: %+v", byKey)
		}
	}
	if _, err := stores[0].Get(t.Context(), 3); !errors.Is(err, order.ErrNotFound) {
		t.Errorf("an order that is not there: %v", err)
	}
}

// A page ends after its last order that fits whole, by orders and by items.
func TestAPageIsBoundedByItems(t *testing.T) {
	_, stores := open(t, 1)
	const heavy, light = 12, 3
	for id := range int64(heavy + light) {
		o := pending(id+1, "")
		if id < heavy {
			o.Items, o.Prices = nil, slices.Repeat([]int64{1}, operation.MaxItems)
			for goods := range int64(operation.MaxItems) {
				o.Items = append(o.Items, operation.Item{GoodsID: goods + 1, Num: 1})
			}
		}
		if _, inserted, err := stores[0].Insert(t.Context(), o); err != nil || !inserted {
			t.Fatal(inserted, err)
		}
	}
	for _, tc := range []struct {
		status      order.Status
		after       int64
		limit, want int
		more        bool
	}{
		{"", 0, 500, 10, true},
		{order.Pending, 0, 500, 10, true},
		{"", 10, 500, 5, false},
		{"", 2, 10, 10, true}, // exactly full by items and by orders
		{"", 5, 500, 10, false},
		{"", 0, 3, 3, true},
		{"", 12, 3, 3, false},
		{"", 15, 3, 0, false},
		{order.Confirmed, 0, 3, 0, false},
	} {
		page, more, err := stores[0].Page(t.Context(), order.Range{Status: tc.status, After: tc.after, Limit: tc.limit})
		must(t, err)
		if len(page) != tc.want || more != tc.more {
			t.Errorf("after %d, limit %d: %d orders, more %v; want %d, %v",
				tc.after, tc.limit, len(page), more, tc.want, tc.more)
		}
		for i, o := range page {
			want := 2
			if o.ID <= heavy {
				want = operation.MaxItems
			}
			if o.ID != tc.after+int64(i)+1 || len(o.Items) != want {
				t.Errorf("after %d: order %d comes as number %d with %d items", tc.after, o.ID, i, len(o.Items))
			}
		}
	}
}

// Many goroutines of two replicas insert orders, many of them with the same key, in batches that mix them: one of each
// key wins, and the others get the winner.
func TestConcurrentInsertsOfOneKey(t *testing.T) {
	db, stores := openWaiting(t, 2, 8*time.Second)
	const keys, copies = 40, 6
	var (
		mu      sync.Mutex
		winners = map[string][]int64{}
		told    = map[string]map[int64]bool{}
		all     sync.WaitGroup
	)
	start := make(chan struct{})
	for n := range keys * copies {
		key := fmt.Sprintf("key-%d", n%keys)
		if n%keys == 0 {
			key = "" // each of these is a separate order
		}
		all.Go(func() {
			<-start
			id := int64(n + 1)
			stored, inserted, err := stores[n%2].Insert(t.Context(), pending(id, key))
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if inserted {
				winners[key] = append(winners[key], id)
			}
			if told[key] == nil {
				told[key] = map[int64]bool{}
			}
			told[key][stored.ID] = true
			if stored.Key != key || len(stored.Items) != 2 || stored.Prices[0] != stored.ID {
				t.Errorf("answered %+v", stored)
			}
		})
	}
	close(start)
	all.Wait()
	for key, won := range winners {
		want := 1
		if key == "" {
			want = copies
		}
		if len(won) != want || len(told[key]) != want {
			t.Errorf("key %q: %v won, answers %v", key, won, told[key])
		}
	}
	var orders, items int64
	must(t, db.Table("orders").Count(&orders).Error)
	must(t, db.Table("order_items").Count(&items).Error)
	if orders != keys-1+copies || items != 2*orders {
		t.Errorf("%d orders with %d items", orders, items)
	}
}

func TestAMoveIsGuarded(t *testing.T) {
	_, stores := open(t, 1)
	store := stores[0]
	_, _, err := store.Insert(t.Context(), pending(1, ""))
	must(t, err)
	for i, step := range []struct {
		from, to        order.Status
		reason          string
		moved           bool
		status, outcome order.Status
	}{
		{order.Confirmed, order.Cancelling, "", false, order.Pending, ""},
		{order.Pending, order.Confirmed, "", true, order.Confirmed, order.Confirmed},
		{order.Pending, order.Rejected, "late", false, order.Confirmed, order.Confirmed},
		{order.Pending, order.Confirmed, "", false, order.Confirmed, order.Confirmed}, // a repeat: another call moved it
		{order.Confirmed, order.Cancelling, "it's a wish", true, order.Cancelling, order.Confirmed},
		{order.Cancelling, order.Cancelled, strings.Repeat("ü", 300), true, order.Cancelled, order.Confirmed},
		// No such step in life: the outcome is kept even then.
		{order.Cancelled, order.Pending, "", true, order.Pending, order.Confirmed},
	} {
		moved, err := store.Move(t.Context(), order.Move{ID: 1, From: step.from, To: step.to, Reason: step.reason})
		must(t, err)
		o, err := store.Status(t.Context(), 1)
		must(t, err)
		if moved != step.moved || o.Status != step.status || o.Outcome != step.outcome {
			t.Errorf("step %d: moved %v, %s, outcome %q", i, moved, o.Status, o.Outcome)
		}
		if want := []rune(step.reason); step.moved && o.Reason != string(want[:min(200, len(want))]) {
			t.Errorf("step %d: reason %q", i, o.Reason)
		}
	}
	if moved, err := store.Move(t.Context(), order.Move{
		ID: 2, From: order.Pending, To: order.Confirmed,
	}); moved || err != nil {
		t.Errorf("an order that is not there: %v, %v", moved, err)
	}
}

// Two replicas move the same orders to different ends at the same time: each
// order ends once, and no replica takes the other's move for its own.
func TestConcurrentMovesOfOneOrder(t *testing.T) {
	_, stores := openWaiting(t, 2, 8*time.Second)
	const orders = 60
	for id := range int64(orders) {
		_, _, err := stores[0].Insert(t.Context(), pending(id+1, ""))
		must(t, err)
	}
	ends := []order.Status{order.Confirmed, order.Rejected}
	moved := [2][orders]bool{}
	var all sync.WaitGroup
	for id := range orders {
		for i, store := range stores {
			all.Go(func() {
				var err error
				moved[i][id], err = store.Move(t.Context(), order.Move{
					ID: int64(id + 1), From: order.Pending, To: ends[i],
					Reason: fmt.Sprint(id % 3),
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	for id := range orders {
		o, err := stores[0].Status(t.Context(), int64(id+1))
		must(t, err)
		won := slices.Index(ends, o.Status)
		if won < 0 || moved[1-won][id] || o.Outcome != o.Status {
			t.Errorf("order %d: %s, outcome %s; the two got %v and %v",
				id+1, o.Status, o.Outcome, moved[0][id], moved[1][id])
		}
	}
}

func TestStuckOrdersAndBacklog(t *testing.T) {
	db, stores := open(t, 1)
	store := stores[0]
	for id := range int64(10) {
		_, _, err := store.Insert(t.Context(), pending(id+1, ""))
		must(t, err)
	}
	now, err := store.Now(t.Context())
	must(t, err)
	now = now.Add(time.Second)
	// Changed just now, as it were.
	must(t, db.Exec("UPDATE orders SET updated_at = ? WHERE id = 4", now.Add(time.Hour)).Error)
	found, err := store.Stuck(t.Context(), order.Pending, 2, now, 4)
	must(t, err)
	var got []int64
	for _, o := range found {
		got = append(got, o.ID)
		if len(o.Items) != 2 {
			t.Errorf("order %d comes without its items", o.ID)
		}
	}
	if !slices.Equal(got, []int64{3, 5, 6, 7}) {
		t.Errorf("stuck: %v", got)
	}
	first := pending(1, "").CreatedAt
	must(t, db.Exec("UPDATE orders SET updated_at = created_at + INTERVAL id SECOND").Error)
	count, oldest, err := store.Backlog(t.Context(), order.Pending, first.Add(9*time.Second))
	must(t, err)
	if count != 8 || !oldest.Equal(first.Add(time.Second)) {
		t.Errorf("backlog %d, oldest %s", count, oldest)
	}
	count, oldest, err = store.Backlog(t.Context(), order.Cancelling, now)
	must(t, err)
	if count != 0 || !oldest.IsZero() {
		t.Errorf("backlog of nothing: %d, oldest %s", count, oldest)
	}
}

// TestTheDatabaseSaysWhenAnOrderChanged: this process's clock is a day ahead of the database's.
func TestTheDatabaseSaysWhenAnOrderChanged(t *testing.T) {
	cfg, err := mysql.ParseDSN(serverstest.Database(t))
	must(t, err)
	cfg.ParseTime = true
	db, err := mysqldb.Open(cfg.FormatDSN(), mysqldb.Options{IdleTimeout: time.Minute}) // keeps the one connection
	must(t, err)
	defer func() { must(t, mysqldb.Close(db)) }()
	pool, err := db.DB()
	must(t, err)
	must(t, migrations.Up(t.Context(), pool, migrations.Order))
	pool.SetMaxOpenConns(1) // whose clock can be set
	for step, do := range []func(*orderdb.DB){
		func(s *orderdb.DB) { _, _, err = s.Insert(t.Context(), pending(1, "")) },
		func(s *orderdb.DB) {
			_, err = s.Move(t.Context(), order.Move{ID: 1, From: order.Pending, To: order.Cancelling})
		},
	} {
		at := time.Now().Add(time.Duration(step-24) * time.Hour).UTC().Truncate(time.Second)
		must(t, db.Exec("SET SESSION timestamp = ?", at.Unix()).Error)
		store := orderdb.New(db)
		do(store)
		must(t, err)
		now, err := store.Now(t.Context())
		must(t, err)
		o, err := store.Status(t.Context(), 1)
		must(t, err)
		store.Close()
		if !o.UpdatedAt.Equal(at) || !now.Equal(at) {
			t.Errorf("step %d: changed at %s, now is %s; the database says %s", step, o.UpdatedAt, now, at)
		}
	}
}

// TestATraceIsKept: orders with a trace and without one are written together, and each is read as it was.
func TestATraceIsKept(t *testing.T) {
	_, stores := open(t, 1)
	var all sync.WaitGroup
	traces := []string{"", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", ""}
	for i, trace := range traces {
		all.Go(func() {
			o := pending(int64(i+1), "")
			o.Trace = trace
			if _, inserted, err := stores[0].Insert(t.Context(), o); err != nil || !inserted {
				t.Error(inserted, err)
			}
		})
	}
	all.Wait()
	stuck, err := stores[0].Stuck(t.Context(), order.Pending, 0, time.Now().Add(time.Minute), 10)
	must(t, err)
	for i, o := range stuck {
		if o.Trace != traces[i] {
			t.Errorf("order %d has trace %q, want %q", o.ID, o.Trace, traces[i])
		}
	}
	if len(stuck) != len(traces) {
		t.Errorf("%d orders, want %d", len(stuck), len(traces))
	}
}

// TestADatabaseThatCannotBeRead: an order that the database refuses to read is unavailable, and never missing.
func TestADatabaseThatCannotBeRead(t *testing.T) {
	db, stores := open(t, 1)
	store, ctx := stores[0], t.Context()
	if _, _, err := store.Insert(ctx, pending(1, "key")); err != nil {
		t.Fatal(err)
	}
	want := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, order.ErrUnavailable) {
			t.Errorf("%s: %v; want it unavailable", what, err)
		}
	}
	must(t, db.Exec("RENAME TABLE order_items TO gone_items").Error)
	_, err := store.Get(ctx, 1)
	want("an order without the table of its items", err)
	_, _, err = store.Insert(ctx, pending(2, ""))
	want("an insert without the table of items", err)
	must(t, db.Exec("RENAME TABLE orders TO gone").Error)
	_, err = store.FindByKey(ctx, "key")
	want("by key", err)
	_, err = store.Status(ctx, 1)
	want("a status", err)
	_, _, err = store.Page(ctx, order.Range{Limit: 10})
	want("a page", err)
	_, err = store.Stuck(ctx, order.Pending, 0, time.Now(), 10)
	want("unsettled orders", err)
	_, _, err = store.Backlog(ctx, order.Pending, time.Now())
	want("the backlog", err)
	_, err = store.Move(ctx, order.Move{ID: 1, From: order.Pending, To: order.Confirmed})
	want("a move", err)
}

// TestTheStoresTables: the columns that readiness looks at are all columns of the tables that the service writes.
func TestTheStoresTables(t *testing.T) {
	db, _ := open(t, 1)
	var want, got []string
	must(t, db.Raw(`SELECT CONCAT(table_name, '.', column_name) FROM information_schema.columns
		WHERE table_schema = DATABASE() AND table_name NOT IN ('goose_db_version', 'pruned')`).Scan(&want).Error)
	for _, table := range orderdb.Tables {
		for column := range strings.SplitSeq(table.Columns, ", ") {
			got = append(got, table.Name+"."+column)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("columns %v, want %v", got, want)
	}
	must(t, mysqldb.ReadyCheck(db, orderdb.Tables...)(t.Context()))
}
