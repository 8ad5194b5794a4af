package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"orderstock/migrations"
	"orderstock/pkg/mysqldb"
	"orderstock/pkg/operation"
	"orderstock/pkg/stockapi"
)

// While another connection holds one product's row, orders for the others are placed as ever, and the reconciler leaves
// none of them unfinished.
func TestAHeldRowClosesNoOtherProduct(t *testing.T) {
	for _, strategy := range []string{"grouped", "sequential", "conditional-update"} {
		t.Run(strategy, func(t *testing.T) { heldRowClosesNoOther(t, strategy) })
	}
}

// heldLeg returns how long the row is held. With a breaker that counts a held row, nearly all orders fail in 3 s.
func heldLeg() time.Duration {
	if testing.Short() {
		return 3 * time.Second
	}
	return 6 * time.Second
}

// The limits are the defaults, unless the machine is too slow for them: while no row is held, orders must succeed in a
// quarter of the time. If they do not, before or after, the test begins again with twice the limits. A stall of the
// machine while the row is held looks like a failure, so the test fails if that happens three times.
func heldRowClosesNoOther(t *testing.T, strategy string) {
	t.Helper()
	dsn := migrated(t, migrations.Stock)
	stockServer := stockServiceWith(t, strategy, dsn, func(next http.Handler) http.Handler { return next })
	client, err := stockapi.NewClient([]string{stockServer.URL},
		stockapi.Config{Token: token, Tries: 1, Timeout: time.Minute})
	must(t, err)
	for goods := 1; goods <= 10; goods++ {
		_, err := client.Restock(t.Context(),
			operation.Restock{GoodsID: int64(goods), Flag: fmt.Sprint("first-", goods), Num: 1_000_000})
		must(t, err)
	}
	client.Close()
	cfg := testConfig(t, stockServer.URL)
	operator, err := mysqldb.Open(dsn, mysqldb.Options{IdleTimeout: time.Hour})
	must(t, err)
	defer func() { must(t, mysqldb.Close(operator)) }()
	orders, err := mysqldb.Open(string(cfg.MySQLDSN), mysqldb.Options{})
	must(t, err)
	defer func() { must(t, mysqldb.Close(orders)) }()
	for failures := 0; failures < 3; {
		switch enough, fast := holdRow(t, cfg, operator, orders); {
		case enough:
			return
		case fast:
			failures++
			t.Log("while a row is held, too few orders for other products are answered 201")
		default:
			cfg.StockTimeout, cfg.ConfirmBudget = 2*cfg.StockTimeout, 2*cfg.ConfirmBudget
			cfg.PendingLimit, cfg.CancelAfter = 2*cfg.PendingLimit, 2*cfg.CancelAfter
			t.Logf("the machine is too slow: a call to the stock service may take %s", cfg.StockTimeout)
		}
	}
	t.Error("while a row is held, too few orders for other products are answered 201, three times")
}

// holdRow holds a row of a running service. It reports whether enough orders for other products succeed meanwhile, and,
// if not, whether the machine is fast enough for that to say anything.
func holdRow(t *testing.T, cfg settings, operator, orders *gorm.DB) (enough, fast bool) {
	t.Helper()
	url, stop, ended := start(t, cfg)
	defer func() { stop(); must(t, <-ended) }()
	transport := &http.Transport{MaxIdleConnsPerHost: 100}
	defer transport.CloseIdleConnections()
	shop := shop{url, &http.Client{Transport: transport}}
	isFast := func() bool {
		enough, slowest := shop.sellsOthers(t, heldLeg()/3)
		return enough && slowest < cfg.StockTimeout/4
	}
	if !isFast() {
		return false, false
	}

	held := operator.Begin()
	must(t, held.Exec("SELECT num FROM stock WHERE goods_id = 1 FOR UPDATE").Error)
	ctx, over := context.WithCancel(t.Context())
	var wanting sync.WaitGroup
	for range 60 {
		wanting.Go(func() {
			for ; ctx.Err() == nil; time.Sleep(25 * time.Millisecond) {
				shop.order(1)
			}
		})
	}
	eventually(t, "the row is known to be held", func() bool { // the first wait for it may take a second of others' time
		_, answer := shop.order(1)
		return strings.Contains(answer, "stock_locked")
	})
	enough, _ = shop.sellsOthers(t, heldLeg())
	unfinished := func(which string) (n int64) {
		must(t, orders.Raw("SELECT COUNT(*) FROM orders JOIN order_items ON order_id = id "+
			"WHERE status IN ('PENDING','CANCELLING') AND "+which).Scan(&n).Error)
		return n
	}
	eventually(t, "no order for another product is unfinished", func() bool { return unfinished("goods_id <> 1") == 0 })
	must(t, held.Rollback().Error)
	over()
	wanting.Wait()
	eventually(t, "the product is sold again", func() bool {
		status, _ := shop.order(1)
		return status == http.StatusCreated
	})
	eventually(t, "no order is unfinished", func() bool { return unfinished("TRUE") == 0 })
	return enough, !enough && isFast()
}

// shop is a running order service with its users.
type shop struct {
	url   string
	users *http.Client
}

func (s shop) order(goods int) (status int, answer string) {
	body := fmt.Sprintf(`{"items":[{"goods_id":"%d","num":1}]}`, goods)
	resp, err := s.users.Post(s.url+"/v1/orders", "application/json", strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(text)
}

// sellsOthers has 36 users order nine products other than product 1 for a while. It reports whether at least 97 % of
// the orders are answered 201, and how long the slowest took.
func (s shop) sellsOthers(t *testing.T, while time.Duration) (enough bool, slowest time.Duration) {
	t.Helper()
	var (
		users           sync.WaitGroup
		mu              sync.Mutex
		asked, answered int
	)
	begin := time.Now()
	for i := range 36 {
		users.Go(func() {
			for ; time.Since(begin) < while; time.Sleep(100 * time.Millisecond) {
				sent := time.Now()
				status, answer := s.order(2 + i%9)
				mu.Lock()
				asked++
				slowest = max(slowest, time.Since(sent))
				if status == http.StatusCreated {
					answered++
				} else {
					t.Logf("an order for another product is answered %d: %s", status, answer)
				}
				mu.Unlock()
			}
		})
	}
	users.Wait()
	t.Logf("%d of %d orders for other products are answered 201, the slowest after %s", answered, asked, slowest)
	return asked > 0 && 100*answered >= 97*asked, slowest
}
