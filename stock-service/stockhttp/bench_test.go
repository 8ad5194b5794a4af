package stockhttp_test

import (
	"fmt"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"orderstock/pkg/servers/serverstest"
	"orderstock/pkg/stockapi"
	stock "orderstock/stock-service"
	"orderstock/stock-service/deduct"
	"orderstock/stock-service/stockhttp"
	"orderstock/stock-service/stocktest"
)

// BenchmarkDeduct measures deductions of one hot goods with that many clients at once: by the
// strategy alone (direct), through HTTP with a request for each (http), and with requests that
// concurrent deductions share, as the order service sends them (shared).
func BenchmarkDeduct(b *testing.B) {
	for _, name := range []string{"case-study", "sequential", "conditional-update", "grouped"} {
		for _, clients := range []int{1, 64, 256} {
			b.Run(fmt.Sprintf("direct/%s/clients=%d", name, clients), func(b *testing.B) {
				p, d := benchPlace(b, name)
				goods := p.Goods(b, 1<<30)
				spread(b, clients, func() error {
					op, err := d.Deduct(b.Context(), stock.Request{Flag: p.Flag(), Items: []stock.Item{{GoodsID: goods, Num: 1}}})
					return done(string(op.State), err)
				})
			})
			for kind, opts := range map[string][]stockapi.Option{"http": nil, "shared": {stockapi.WithSharedRequests(4)}} {
				b.Run(fmt.Sprintf("%s/%s/clients=%d", kind, name, clients), func(b *testing.B) {
					p, d := benchPlace(b, name)
					items := []stockapi.Item{{GoodsID: stock.FormatGoodsID(p.Goods(b, 1<<30)), Num: 1}}
					handler := stockhttp.New(p.Service(d), stockhttp.Config{Token: token}, stocktest.Quiet)
					h := httptest.NewServer(handler)
					defer h.Close()
					c, err := stockapi.NewClient([]string{h.URL}, token, opts...)
					if err != nil {
						b.Fatal(err)
					}
					defer c.Close()
					spread(b, clients, func() error {
						op, err := c.Deduct(b.Context(), p.Flag(), items)
						return done(string(op.State), err)
					})
				})
			}
		}
	}
}

func benchPlace(b *testing.B, name string) (*stocktest.Place, deduct.Strategy) {
	b.Helper()
	p := stocktest.New(b)
	d, err := deduct.New(name, deduct.Config{
		Ledger: p.Ledger, ZooKeeper: []string{serverstest.ZooKeeper(b).Addr()}, Root: serverstest.ZooKeeperRoot(b),
		SessionTimeout: 10 * time.Second, LockTimeout: stocktest.Patience, Log: stocktest.Quiet,
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = d.Close() })
	return p, d
}

func done(state string, err error) error {
	if err == nil && state != string(stock.Done) {
		err = fmt.Errorf("state %s", state)
	}
	return err
}

// spread shares b.N calls among the clients.
func spread(b *testing.B, clients int, call func() error) {
	b.Helper()
	var next atomic.Int64
	stop := make(chan error, clients)
	b.ResetTimer()
	for range clients {
		go func() {
			for next.Add(1) <= int64(b.N) {
				if err := call(); err != nil {
					stop <- err
					return
				}
			}
			stop <- nil
		}()
	}
	for range clients {
		if err := <-stop; err != nil {
			b.Error(err)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "deductions/s")
}
