//go:build alone

package stack_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"orderstock/loadtest/stack"
)

// TestSlowSendersLeaveOrdersTheirRate places orders with and without 10,000 connections beside them, in turns, each of
// which sends one byte a second: half of them of a header, half of a body. One that is cut comes again.
func TestSlowSendersLeaveOrdersTheirRate(t *testing.T) {
	const (
		clients, slow = 32, 10_000
		turns, leg    = 4, 3 * time.Second
	)
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil || files.Max < slow+1000 {
		t.Fatalf("a process may open %d files, want %d: raise the limit with \"ulimit -Hn\" (%v)", files.Max, slow+1000, err)
	}
	st, err := stack.Up(t.Context(), config(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Kill() })
	for i := range clients {
		send(t, st, "POST", fmt.Sprintf("%s/v1/stock/%d/restock", st.Stock[0].URL(), i+1), `{"flag":"first","num":1000000}`)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	defer transport.CloseIdleConnections()
	users := &http.Client{Transport: transport}
	var refused atomic.Int64
	orders := func() (placed int64) {
		ctx, end := context.WithTimeout(t.Context(), leg)
		defer end()
		var count atomic.Int64
		var all sync.WaitGroup
		for i := range clients {
			body := fmt.Sprintf(`{"items":[{"goods_id":"%d","num":1}]}`, i+1)
			all.Go(func() {
				for ctx.Err() == nil {
					req, _ := http.NewRequestWithContext(ctx, http.MethodPost, st.Order[0].URL()+"/v1/orders", strings.NewReader(body))
					req.Header.Set("Content-Type", "application/json")
					resp, err := users.Do(req)
					if err != nil {
						continue // the end of the leg
					}
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
					if resp.StatusCode == http.StatusCreated {
						count.Add(1)
					} else {
						refused.Add(1)
					}
				}
			})
		}
		all.Wait()
		return count.Load()
	}
	orders() // the first orders pay for connections and prices
	var alone, beside int64
	var cut int
	for range turns {
		alone += orders()
		crowd := newCrowd(t, st.Order[0].Addr(), slow)
		beside += orders()
		cut += crowd.leave()
	}
	ratio := float64(beside) / float64(alone)
	t.Logf("%d orders alone, %d beside %d slow senders, %d of whom were cut and came again: ratio %.2f", alone, beside, slow, cut, ratio)
	if n := refused.Load(); n > 0 || alone == 0 || ratio < 0.8 {
		t.Errorf("orders keep %.2f of their rate, want 0.8; %d orders alone, %d refused", ratio, alone, n)
	}
}

// crowd is connections that send a byte each second.
type crowd struct {
	addr  string
	conns []net.Conn
	stop  context.CancelFunc
	ended chan struct{}
	cut   int
}

func newCrowd(t *testing.T, addr string, size int) *crowd {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	c := &crowd{addr: addr, conns: make([]net.Conn, size), stop: stop, ended: make(chan struct{})}
	for i := range c.conns {
		if err := c.come(ctx, i); err != nil {
			t.Fatalf("slow sender %d: %v", i+1, err)
		}
	}
	go c.send(ctx)
	time.Sleep(3 * time.Second) // so that headers reach their limit
	return c
}

// come opens connection i, which begins a header or, if i is odd, a body.
func (c *crowd) come(ctx context.Context, i int) (err error) {
	if c.conns[i], err = new(net.Dialer).DialContext(ctx, "tcp", c.addr); err != nil {
		return err
	}
	begin := "POST /v1/orders HTTP/1.1\r\nHost: orders\r\nContent-Type: application/json\r\nX-Slow: "
	if i%2 == 1 {
		begin = "POST /v1/orders HTTP/1.1\r\nHost: orders\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
	}
	_, err = c.conns[i].Write([]byte(begin))
	return err
}

// send lets each connection send a byte each second, a hundredth of them at a time.
func (c *crowd) send(ctx context.Context) {
	defer close(c.ended)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for part := 0; ; part = (part + 1) % 100 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		for i := part; i < len(c.conns); i += 100 {
			if _, err := c.conns[i].Write([]byte(" ")); err == nil {
				continue
			}
			c.cut++
			_ = c.conns[i].Close()
			if c.come(ctx, i) != nil {
				return // the stop
			}
		}
	}
}

// leave closes the connections and returns how often one was cut.
func (c *crowd) leave() (cut int) {
	c.stop()
	<-c.ended
	for _, conn := range c.conns {
		if conn != nil {
			_ = conn.Close()
		}
	}
	time.Sleep(time.Second) // the service notices
	return c.cut
}
