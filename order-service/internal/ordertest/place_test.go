package ordertest_test

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"orderstock/order-service/order"
	"orderstock/pkg/mysqldb"
	"orderstock/pkg/operation"
)

func TestAnOrderTakesStockAndPrice(t *testing.T) {
	w := newWorld(t)
	r := w.replica(enough)
	w.restock(1001, 10)
	w.restock(1002, 10)
	a := r.call("POST", "/v1/orders", `{"items":[{"goods_id":"1002","num":3},{"goods_id":"1001","num":2}]}`)
	if a.status != http.StatusCreated || a.order.Status != order.Confirmed || a.order.Total != 5*250 || a.replayed {
		t.Fatalf("got %d %s", a.status, a.body)
	}
	if len(a.order.Items) != 2 || a.order.Items[0].GoodsID != "1001" || a.order.Items[0].Price != 250 ||
		a.order.Items[1].Num != 3 {
		t.Errorf("items %+v", a.order.Items)
	}
	w.wantLevel(1001, 8)
	w.wantLevel(1002, 7)
	o := r.wantOrder(a.id(t), order.Confirmed, order.Confirmed)
	if state := w.state(o); state != operation.Done {
		t.Errorf("its operation is %q", state)
	}
	got := r.call("GET", "/v1/orders/"+a.order.ID, "")
	if got.status != http.StatusOK || got.order.Status != order.Confirmed || got.order.ID != a.order.ID ||
		len(got.order.Items) != 2 {
		t.Errorf("GET answers %d %s", got.status, got.body)
	}
}

// Fault D: a repeat was answered with nothing, so that nobody could distinguish done from refused.
func TestFaultD_ARepeatGetsTheFirstAnswer(t *testing.T) {
	w := newWorld(t)
	one, two := w.replica(enough), w.replica(enough)
	w.restock(1, 5)

	confirmed, rejected := one.place("confirmed", 1, 2), one.place("rejected", 1, 4)
	if confirmed.status != http.StatusCreated || rejected.status != http.StatusConflict ||
		rejected.order.Status != order.Rejected {
		t.Fatalf("got %d %s and %d %s", confirmed.status, confirmed.body, rejected.status, rejected.body)
	}
	if !strings.HasPrefix(rejected.order.Reason, "insufficient_stock") {
		t.Errorf("reason %q", rejected.order.Reason)
	}
	w.restock(1, 100) // a rejected order stays rejected
	// Also after a cancellation a repeat gets the first answer.
	one.call("POST", "/v1/orders/"+confirmed.order.ID+"/cancel", "").want(t, http.StatusOK, order.Cancelled)
	for _, r := range []*replica{one, two} {
		for first, again := range map[*answer]answer{
			&confirmed: r.place("confirmed", 1, 2),
			&rejected:  r.place("rejected", 1, 4),
		} {
			if again.status != first.status || again.body != first.body || !again.replayed {
				t.Errorf("first %d %s, repeat %d %s (replayed %v)", first.status, first.body, again.status, again.body,
					again.replayed)
			}
		}
	}
	w.wantRows(2, 2)
	w.wantLevel(1, 105)

	w.wire.breakAll(func(*http.Request) fault { return drop })
	if again := two.place("confirmed", 1, 2); again.status != http.StatusCreated || !again.replayed {
		t.Errorf("with the stock service down: %d %s", again.status, again.body)
	}
}

func TestAKeyUsedForOtherItemsIsRefused(t *testing.T) {
	w, r := serve(t, enough, 10)
	r.place("key", 1, 2).want(t, http.StatusCreated)
	r.place("key", 1, 3).wantProblem(t, http.StatusUnprocessableEntity, "idempotency_key_reused")
	w.wantRows(1, 1)
	w.wantLevel(1, 8)
}

func TestConcurrentRepeatsMakeOneOrder(t *testing.T) {
	w := newWorld(t)
	w.orderDB = open(t, w.orderDSN, mysqldb.Options{LockWait: 8 * time.Second}) // one waits while another commits
	replicas := []*replica{w.replica(enough), w.replica(enough)}
	w.restock(1, 1000)
	const keys, repeats = 10, 8
	var (
		mu      sync.Mutex
		bodies  = map[string]map[string]int{}
		fresh   int
		clients sync.WaitGroup
	)
	start := make(chan struct{})
	for key := range keys {
		for n := range repeats {
			clients.Go(func() {
				<-start
				name := "key-" + strconv.Itoa(key)
				a := replicas[n%2].place(name, 1, int64(key+1))
				mu.Lock()
				defer mu.Unlock()
				if a.status != http.StatusCreated {
					t.Errorf("%s: %d %s", name, a.status, a.body)
				}
				if bodies[name] == nil {
					bodies[name] = map[string]int{}
				}
				bodies[name][a.body]++
				if !a.replayed {
					fresh++
				}
			})
		}
	}
	close(start)
	clients.Wait()
	for key, answers := range bodies {
		if len(answers) != 1 {
			t.Errorf("%s got different answers: %v", key, answers)
		}
	}
	if fresh != keys {
		t.Errorf("%d answers were not replays, want one for each of %d keys", fresh, keys)
	}
	w.wantRows(keys, keys)
	w.wantLevel(1, 1000-keys*(keys+1)/2)
}

// Fault E: after 18 s the order side answered "false", while the deduction landed later.
func TestFaultE_ALateDeductionIsNeverReportedAsFailed(t *testing.T) {
	t.Parallel()
	w, r := serve(t, order.Config{PendingLimit: 3 * time.Second}, 10)
	w.wire.breakAll(deductions(hold))
	first := r.place("late", 1, 4)
	first.want(t, http.StatusAccepted, order.Pending)
	w.wantLevel(1, 10)
	w.wire.heal() // and now it lands
	eventually(t, "the deduction lands", func() bool { return w.level(1) == 6 })
	reconcile(t, r, 3*time.Second)
	r.wantOrder(first.id(t), order.Confirmed, order.Confirmed)
	again := r.place("late", 1, 4)
	if again.status != http.StatusCreated || again.order.ID != first.order.ID || !again.replayed {
		t.Errorf("the repeat gets %d %s", again.status, again.body)
	}
	w.wantLevel(1, 6)
}

func TestALostReplyIsConfirmedAtOnce(t *testing.T) {
	w, r := serve(t, enough, 10)
	for name, how := range map[string]fault{"reply lost": dropReply, "request lost": drop, "refused": refuse} {
		t.Run(name, func(t *testing.T) {
			before := w.level(1)
			broken := false
			w.wire.breakAll(func(r *http.Request) fault {
				if r.Method != http.MethodPut || broken {
					return pass
				}
				broken = true
				return how
			})
			defer w.wire.heal()
			a := r.place("key-"+strings.ReplaceAll(name, " ", "-"), 1, 2)
			a.want(t, http.StatusCreated)
			w.wantLevel(1, before-2)
		})
	}
}

// TestADeductionThatCannotBeWrittenDown: the order is deducted, and its status cannot be set. The client gets it as
// pending, and the reconciler sets the status later.
func TestADeductionThatCannotBeWrittenDown(t *testing.T) {
	t.Parallel()
	w, r := serve(t, order.Config{}, 10)
	placed := r.placeHeld("", 1, 4)
	const refuse = "CREATE TRIGGER refuse BEFORE UPDATE ON orders FOR EACH ROW SIGNAL SQLSTATE '45000'"
	must(t, w.orderDB.Exec(refuse).Error)
	w.wire.heal()
	a := <-placed
	a.want(t, http.StatusAccepted, order.Pending)
	eventually(t, "the order is left to the reconciler", func() bool { return r.Stats().Unsettled.Load() == 1 })
	must(t, w.orderDB.Exec("DROP TRIGGER refuse").Error)
	reconcile(t, r, 5*time.Second)
	r.wantOrder(a.id(t), order.Confirmed, order.Confirmed)
	w.wantLevel(1, 6)
}

// Fault P: the request thread slept through the confirmation, so that a few hundred slow orders used up the server.
func TestFaultP_SlowOrdersDoNotUseUpTheServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const orders, budget = 200, 6 * time.Second // time enough to write them all, on a busy machine too
	r := w.replica(order.Config{
		ConfirmBudget: budget, PendingLimit: 10 * budget, MaxInFlight: orders,
		PriceTTL: time.Minute,
	})
	w.restock(1, 1000)
	placed := r.place("", 1, 1)
	w.wire.breakAll(deductions(hold))
	var slow sync.WaitGroup
	for range orders {
		slow.Go(func() {
			start := time.Now()
			a := r.call("POST", "/v1/orders", items(1, 1))
			a.want(t, http.StatusAccepted)
			if took := time.Since(start); took > budget+10*time.Second { // a busy machine is slow, too
				t.Errorf("a client was kept for %s", took)
			}
		})
	}
	eventually(t, "the server is full", func() bool { return r.Stats().InFlight.Load() == orders })
	// Requests without stock are served during it; requests beyond the limit are refused at once.
	r.call("GET", "/v1/orders/"+placed.order.ID, "").want(t, http.StatusOK)
	if a := r.call("POST", "/v1/orders", items(1, 1)); a.status != http.StatusServiceUnavailable ||
		a.order.Code != "overloaded" || a.retry == "" {
		t.Errorf("one order too many: %d %s, Retry-After %q", a.status, a.body, a.retry)
	}
	slow.Wait()
	w.wire.heal()
	eventually(t, "places fall free", func() bool { return r.Stats().InFlight.Load() == 0 })
}

func TestWithoutTheStockServiceNothingIsWritten(t *testing.T) {
	w, r := serve(t, order.Config{}, 10)
	w.wire.breakAll(func(*http.Request) fault { return drop })
	a := r.call("POST", "/v1/orders", items(1, 1))
	if a.status != http.StatusServiceUnavailable || a.order.Code != "stock_unavailable" || a.retry == "" {
		t.Errorf("got %d %s, Retry-After %q", a.status, a.body, a.retry)
	}
	w.wantRows(0, 0)
}

func TestABrokenStockServiceIsLeftAlone(t *testing.T) {
	w, r := serve(t, order.Config{PriceTTL: time.Minute}, 100)
	r.place("", 1, 1).want(t, http.StatusCreated)
	w.wire.breakAll(func(*http.Request) fault { return refuse })
	var all sync.WaitGroup
	for range 30 {
		all.Go(func() { r.call("POST", "/v1/orders", items(1, 1)) })
	}
	all.Wait()
	// The breaker lets a few calls through each second.
	eventually(t, "an order is refused, and neither written nor sent", func() bool {
		var before, after int64
		must(t, w.orderDB.Table("orders").Count(&before).Error)
		sent := w.wire.count(http.MethodPut)
		refused := r.call("POST", "/v1/orders", items(1, 1))
		must(t, w.orderDB.Table("orders").Count(&after).Error)
		return refused.status == http.StatusServiceUnavailable && refused.order.Code == "stock_unavailable" &&
			after == before && w.wire.count(http.MethodPut) == sent
	})
	w.wire.heal()
	eventually(t, "orders go through again", func() bool {
		return r.call("POST", "/v1/orders", items(1, 1)).status == http.StatusCreated
	})
}

func TestWithoutRedisOrdersGoThrough(t *testing.T) {
	w := newWorld(t)
	w.redisAddr = "127.0.0.1:1" // nobody listens there
	r := w.replica(enough)
	w.restock(1, 10)
	for range 5 {
		r.call("POST", "/v1/orders", items(1, 1)).want(t, http.StatusCreated)
	}
	w.wantLevel(1, 5)
	if missed := r.Stats().FlagsMissed.Load(); missed != 5 {
		t.Errorf("%d flags were missed, want 5", missed)
	}
}

func TestPages(t *testing.T) {
	_, r := serve(t, enough, 4)
	want := map[order.Status][]string{}
	for i := range 6 {
		a := r.place("", 1, 1)
		if i < 4 != (a.status == http.StatusCreated) {
			t.Fatalf("order %d: %d %s", i, a.status, a.body)
		}
		want[a.order.Status] = append(want[a.order.Status], a.order.ID)
		want[""] = append(want[""], a.order.ID)
	}
	for status, all := range want {
		var got []string
		for after := ""; ; {
			page := r.call("GET", "/v1/orders?status="+string(status)+"&after="+after+"&limit=2", "")
			ids, next := pageOf(t, page.body)
			got = append(got, ids...)
			if after = next; after == "" {
				break
			}
		}
		if strings.Join(got, " ") != strings.Join(all, " ") {
			t.Errorf("pages of %q: %v, want %v", status, got, all)
		}
	}
}

// The order is cancelled through another replica, for the client's reason,
// while this one places it and finds the same end in the ledger.
func TestTheFirstAnswerIsTheStoredOne(t *testing.T) {
	w, r := serve(t, enough, 10)
	other := w.replica(enough)
	placed := r.placeHeld("key", 1, 4)
	o, err := r.store.FindByKey(t.Context(), "key")
	must(t, err)
	if a := other.cancel(o.Flag()); a.order.Status != order.Cancelled {
		t.Fatalf("got %d %s", a.status, a.body)
	}
	w.wire.heal()
	first := <-placed
	repeat := r.place("key", 1, 4)
	stored := r.wantOrder(o.ID, order.Cancelled, order.Cancelled)
	if first.order.Reason != stored.Reason || repeat.order.Reason != stored.Reason {
		t.Errorf("stored %q, answered first %q and then %q", stored.Reason, first.order.Reason, repeat.order.Reason)
	}
}
