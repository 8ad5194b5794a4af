package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"orderstock/migrations"
	"orderstock/pkg/mysqldb"
	"orderstock/pkg/stockapi"
)

// While another connection holds one product's row, orders for the others are placed as ever, and the reconciler leaves
// none of them unfinished.
func TestAHeldRowClosesNoOtherProduct(t *testing.T) {
	for _, strategy := range []string{"grouped", "sequential", "conditional-update"} {
		t.Run(strategy, func(t *testing.T) { heldRowClosesNoOther(t, strategy) })
	}
}

const heldLeg = 6 * time.Second

func heldRowClosesNoOther(t *testing.T, strategy string) {
	t.Helper()
	dsn := migrated(t, migrations.Stock)
	stockServer := stockServiceWith(t, strategy, dsn, func(next http.Handler) http.Handler { return next })
	client, err := stockapi.NewClient([]string{stockServer.URL}, token)
	must(t, err)
	for goods := 1; goods <= 10; goods++ {
		_, err := client.Restock(t.Context(), strconv.Itoa(goods),
			stockapi.RestockRequest{Flag: fmt.Sprint("first-", goods), Num: 1_000_000})
		must(t, err)
	}
	client.Close()
	cfg := testConfig(t, stockServer.URL)
	url, stop, ended := start(t, cfg)

	operator, err := mysqldb.Open(dsn, mysqldb.Options{IdleTimeout: time.Hour})
	must(t, err)
	defer func() { must(t, mysqldb.Close(operator)) }()
	held := operator.Begin()
	must(t, held.Exec("SELECT num FROM stock WHERE goods_id = 1 FOR UPDATE").Error)

	transport := &http.Transport{MaxIdleConnsPerHost: 100}
	defer transport.CloseIdleConnections()
	users := &http.Client{Transport: transport}
	ctx, over := context.WithCancel(t.Context())
	var (
		all             sync.WaitGroup
		asked, answered atomic.Int64
	)
	order := func(goods int) (status int) {
		body := fmt.Sprintf(`{"items":[{"goods_id":"%d","num":1}]}`, goods)
		req, err := http.NewRequest(http.MethodPost, url+"/v1/orders", strings.NewReader(body))
		must(t, err)
		req.Header.Set("Content-Type", "application/json")
		resp, err := users.Do(req)
		if err != nil {
			return 0
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	for range 60 {
		all.Go(func() {
			for ctx.Err() == nil {
				order(1)
			}
		})
	}
	begin := time.Now()
	var others sync.WaitGroup
	for i := range 36 {
		others.Go(func() {
			for time.Since(begin) < heldLeg {
				status := order(2 + i%9)
				asked.Add(1)
				if status == http.StatusCreated {
					answered.Add(1)
				} else {
					t.Logf("an order for another product is answered %d", status)
				}
				time.Sleep(100 * time.Millisecond)
			}
		})
	}
	others.Wait()

	orders, err := mysqldb.Open(string(cfg.MySQLDSN), mysqldb.Options{})
	must(t, err)
	defer func() { must(t, mysqldb.Close(orders)) }()
	unfinished := func(which string) (n int64) {
		must(t, orders.Raw("SELECT COUNT(*) FROM orders JOIN order_items ON order_id = id "+
			"WHERE status IN ('PENDING','CANCELLING') AND "+which).Scan(&n).Error)
		return n
	}
	eventually(t, "no order for another product is unfinished", func() bool { return unfinished("goods_id <> 1") == 0 })
	t.Logf("%d of %d orders for other products are answered 201; %d for the held one wait", answered.Load(), asked.Load(),
		unfinished("goods_id = 1"))
	if asked.Load() == 0 || 100*answered.Load() < 97*asked.Load() {
		t.Errorf("%d of %d orders for other products are answered 201, want 97 %%", answered.Load(), asked.Load())
	}
	must(t, held.Rollback().Error)
	over()
	all.Wait()
	eventually(t, "the product is sold again", func() bool { return order(1) == http.StatusCreated })
	eventually(t, "no order is unfinished", func() bool { return unfinished("TRUE") == 0 })
	stop()
	must(t, <-ended)
}
