package stockhttp_test

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"orderstock/pkg/operation"
	"orderstock/pkg/stockapi"
	"orderstock/stock-service/deduct"
	"orderstock/stock-service/internal/stocktest"
	"orderstock/stock-service/stock"
	"orderstock/stock-service/stockhttp"
)

// BenchmarkDeduct measures deductions of one hot product by many clients at once: by the strategy
// alone (direct), through HTTP with a request for each (http), and with requests that concurrent
// deductions share, as the order service sends them (shared). The flags are put into Redis first, as
// the order service does.
func BenchmarkDeduct(b *testing.B) {
	for _, name := range []string{"case-study", "sequential", "conditional-update", "grouped"} {
		for _, clients := range []int{1, 64, 256} {
			b.Run(fmt.Sprintf("direct/%s/clients=%d", name, clients), func(b *testing.B) {
				p, d := benchPlace(b, name)
				goods := p.Goods(b, 1<<30)
				spread(b, p, clients, func(flag string) error {
					op, err := d.Deduct(b.Context(), stock.Request{Flag: flag, Items: []operation.Item{{GoodsID: goods, Num: 1}}})
					return done(string(op.State), err)
				})
			})
			for kind, requests := range map[string]int{"http": 0, "shared": 4} {
				b.Run(fmt.Sprintf("%s/%s/clients=%d", kind, name, clients), func(b *testing.B) {
					p, d := benchPlace(b, name)
					items := []operation.Item{{GoodsID: p.Goods(b, 1<<30), Num: 1}}
					handler := stockhttp.New(p.Service(d), stockhttp.Config{Token: token}, stocktest.Quiet)
					h := httptest.NewServer(handler)
					defer h.Close()
					c, err := stockapi.NewClient([]string{h.URL},
						stockapi.Config{Token: token, SharedRequests: requests})
					if err != nil {
						b.Fatal(err)
					}
					defer c.Close()
					spread(b, p, clients, func(flag string) error {
						op, err := c.Deduct(b.Context(), flag, items)
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
	return p, p.Open(b, name)
}

func done(state string, err error) error {
	if err == nil && state != string(operation.Done) {
		err = fmt.Errorf("state %s", state)
	}
	return err
}

// spread shares b.N calls, each with a new flag, among the clients.
func spread(b *testing.B, p *stocktest.Place, clients int, call func(flag string) error) {
	b.Helper()
	flags := make([]string, b.N)
	for i := range flags {
		flags[i] = p.Flag()
	}
	each(b, flags, 256, func(flag string) error {
		if !p.Flags.Set(b.Context(), flag) {
			return errors.New("flag not set")
		}
		return nil
	})
	b.ResetTimer()
	each(b, flags, clients, call)
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "deductions/s")
}

// each calls do for every flag, by as many goroutines.
func each(b *testing.B, flags []string, goroutines int, do func(flag string) error) {
	b.Helper()
	var next atomic.Int64
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for i := next.Add(1); i <= int64(len(flags)); i = next.Add(1) {
				if err := do(flags[i-1]); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}
