//go:build alone

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"orderstock/pkg/mysqldb"
	"orderstock/pkg/operation"
	"orderstock/pkg/stockapi"
)

// heavy fills the order database with settled orders of 100 items each.
func heavy(t *testing.T, cfg settings, orders int) {
	t.Helper()
	db, err := mysqldb.Open(string(cfg.MySQLDSN), mysqldb.Options{})
	must(t, err)
	defer func() { must(t, mysqldb.Close(db)) }()
	for first := 1; first <= orders; first += 100 {
		var rows, items []string
		for id := first; id < first+100; id++ {
			rows = append(rows, fmt.Sprintf("(%d,'CONFIRMED','CONFIRMED',UNHEX(SHA2(%d,256)),100,NOW(6),NOW(6))", id, id))
			for goods := 1; goods <= 100; goods++ {
				items = append(items, fmt.Sprintf("(%d,%d,1,1)", id, goods))
			}
		}
		must(t, db.Exec("INSERT INTO orders (id,status,outcome,body_hash,total,created_at,updated_at) VALUES "+
			strings.Join(rows, ",")).Error)
		must(t, db.Exec("INSERT INTO order_items (order_id,goods_id,num,price) VALUES "+strings.Join(items, ",")).Error)
	}
}

const heavyPage = "/v1/orders?limit=500"

// TestReadersLeaveOrdersTheirRate places orders with and without concurrent readers of heavy pages, in turns.
func TestReadersLeaveOrdersTheirRate(t *testing.T) {
	const (
		clients, readers = 32, 16
		turns, leg       = 8, 1500 * time.Millisecond
	)
	stockServer := stockService(t, func(next http.Handler) http.Handler { return next })
	client, err := stockapi.NewClient([]string{stockServer.URL}, stockapi.Config{Token: token, Tries: 1})
	must(t, err)
	defer client.Close()
	for goods := range clients {
		_, err := client.Restock(t.Context(),
			operation.Restock{GoodsID: int64(goods + 1), Flag: fmt.Sprint("first-", goods), Num: 1_000_000})
		must(t, err)
	}
	cfg := testConfig(t, stockServer.URL)
	url, stop, ended := start(t, cfg)
	heavy(t, cfg, 600)

	transport := &http.Transport{MaxIdleConnsPerHost: clients + readers}
	defer transport.CloseIdleConnections()
	users := &http.Client{Transport: transport}
	call := func(ctx context.Context, method, path, body string) int {
		req, err := http.NewRequestWithContext(ctx, method, url+path, strings.NewReader(body))
		must(t, err)
		req.Header.Set("Content-Type", "application/json")
		resp, err := users.Do(req)
		if err != nil {
			return 0
		}
		defer func() { _ = resp.Body.Close() }()
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode
	}
	// during counts the orders and the pages that are answered well during a leg.
	during := func(readers int) (orders, pages int64) {
		var placed, read atomic.Int64
		ctx, end := context.WithTimeout(t.Context(), leg)
		defer end()
		var all sync.WaitGroup
		for i := range clients {
			all.Go(func() {
				for ctx.Err() == nil {
					body := fmt.Sprintf(`{"items":[{"goods_id":"%d","num":1}]}`, i+1)
					if call(ctx, "POST", "/v1/orders", body) == http.StatusCreated {
						placed.Add(1)
					}
				}
			})
		}
		for range readers {
			all.Go(func() {
				for ctx.Err() == nil {
					if call(ctx, "GET", heavyPage, "") == http.StatusOK {
						read.Add(1)
					}
				}
			})
		}
		all.Wait()
		return placed.Load(), read.Load()
	}
	during(0) // the first orders pay for connections and prices
	var alone, beside, pages int64
	for range turns {
		n, _ := during(0)
		alone += n
		n, p := during(readers)
		beside += n
		pages += p
	}
	ratio := float64(beside) / float64(alone)
	t.Logf("%d orders alone, %d with %d readers who got %d pages: ratio %.2f", alone, beside, readers, pages, ratio)
	if alone == 0 || pages == 0 || ratio < 0.8 {
		t.Errorf("orders keep %.2f of their rate, want 0.8; %d orders alone, %d pages", ratio, alone, pages)
	}
	transport.CloseIdleConnections()
	stop()
	must(t, <-ended)
}

// TestReadersThatDoNotReadCostLittle leaves 200 heavy pages unread.
func TestReadersThatDoNotReadCostLittle(t *testing.T) {
	const readers, allowed = 200, 128 << 20
	stockServer := stockService(t, func(next http.Handler) http.Handler { return next })
	cfg := testConfig(t, stockServer.URL)
	url, stop, ended := start(t, cfg)
	heavy(t, cfg, 600)
	inUse := func() int64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc + m.StackInuse)
	}
	runtime.GC()
	before := inUse()
	most, sampled := before, make(chan struct{})
	ctx, answered := context.WithCancel(t.Context())
	go func() {
		defer close(sampled)
		for ctx.Err() == nil {
			most = max(most, inUse())
			time.Sleep(5 * time.Millisecond)
		}
	}()
	for range readers {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "http://"))
		must(t, err)
		defer func() { _ = conn.Close() }()
		must(t, conn.(*net.TCPConn).SetReadBuffer(4096))
		_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: orders\r\n\r\n", heavyPage)
		must(t, err)
	}
	// A reader that does read comes after them, so all had their turn when it is answered.
	for deadline := time.Now().Add(2 * time.Minute); ; { // the test does not judge how long they wait
		status, answer := send(t, "GET", url+heavyPage, "")
		if status == http.StatusOK {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no page is read: %d %s", status, answer)
		}
	}
	answered()
	<-sampled
	grown := most - before
	t.Logf("%d pages unread: up to %d MiB more in use", readers, grown>>20)
	if grown > allowed {
		t.Errorf("%d pages unread hold %d MiB, want %d at most", readers, grown>>20, allowed>>20)
	}
	stop()
	if err := <-ended; err != nil {
		t.Log("a page was still being written:", err)
	}
}
