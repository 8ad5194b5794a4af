//go:build alone

package system_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"orderstock/loadtest/system/systemtest"
)

// TestSlowSendersLeaveOrdersTheirRate places orders while 10,000 connections send one byte per second each: half of
// them in a header, half in a body. A connection that is cut is opened again. It compares the rate of orders, in turns,
// with the rate while the same senders use a port where nobody reads: so the work of sending, which other machines do
// in production, slows both. The rate of orders alone is only logged.
func TestSlowSendersLeaveOrdersTheirRate(t *testing.T) {
	const (
		clients, slow = 32, 10_000
		turns, leg    = 5, 4 * time.Second
	)
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil || files.Max < slow+1000 {
		t.Fatalf("a process may open %d files, want %d: raise the limit with \"ulimit -Hn\" (%v)",
			files.Max, slow+1000, err)
	}
	st := systemtest.Start(t, config(t))
	for i := range clients {
		send(t, st, "POST", fmt.Sprintf("%s/v1/stock/%d/restock", st.Stocks[0].URL(), i+1), `{"flag":"first","num":1000000}`)
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
					req, _ := http.NewRequestWithContext(ctx, http.MethodPost, st.Orders[0].URL()+"/v1/orders", strings.NewReader(body))
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
	ratios := make([]float64, turns)
	var cut int
	for i := range ratios {
		alone := orders()
		addr, end := startUnread(t)
		unread := newCrowd(t, addr, slow, 2)
		besideUnread := orders()
		if n := unread.leave(t); n > 0 {
			t.Fatalf("%d senders were cut where nobody reads", n)
		}
		end()
		read := newCrowd(t, st.Orders[0].Addr(), slow, headerLimit)
		besideRead := orders()
		cut += read.leave(t)
		ratios[i] = float64(besideRead) / float64(besideUnread)
		t.Logf("orders: %d alone, %d with senders that nobody reads, %d with senders that the service reads: "+
			"%.2f of the second, %.2f of the first",
			alone, besideUnread, besideRead, ratios[i], float64(besideRead)/float64(alone))
	}
	slices.Sort(ratios)
	ratio := ratios[turns/2] // one turn disturbed by other work on the machine does not count
	t.Logf("orders keep %.2f of their rate with %d slow senders; %d were cut and came again", ratio, slow, cut)
	if n := refused.Load(); n > 0 || !(ratio >= 0.8) {
		t.Errorf("orders keep %.2f of their rate, want 0.8; %d refused", ratio, n)
	}
}

const unreadEnv = "ORDERSTOCK_TEST_UNREAD"

// startUnread starts a process with a port that takes connections and reads nothing from them.
func startUnread(t *testing.T) (addr string, end func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestUnread$")
	cmd.Env = append(os.Environ(), unreadEnv+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fscanln(out, &addr); err != nil {
		t.Fatalf("the port where nobody reads: %v", err)
	}
	return addr, func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// TestUnread is the process of startUnread.
func TestUnread(t *testing.T) {
	if os.Getenv(unreadEnv) == "" {
		return
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(l.Addr())
	var held []net.Conn
	for {
		conn, err := l.Accept()
		if err != nil {
			t.Fatalf("after %d connections: %v", len(held), err)
		}
		held = append(held, conn) // so that none is collected, and closed
	}
}

// crowd is connections that send a byte each second.
type crowd struct {
	addr  string
	conns []net.Conn
	stop  context.CancelFunc
	whole chan struct{}
	ended chan error
	cut   int
}

// headerLimit is how many seconds the service waits for a header. A crowd that grows evenly for as long is then cut
// evenly.
const headerLimit = 10

// newCrowd lets a crowd grow evenly over some seconds, and returns once it is whole.
func newCrowd(t *testing.T, addr string, size, seconds int) *crowd {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	c := &crowd{
		addr: addr, conns: make([]net.Conn, size), stop: stop,
		whole: make(chan struct{}), ended: make(chan error, 1),
	}
	go func() { c.ended <- c.send(ctx, seconds) }()
	select {
	case <-c.whole:
	case err := <-c.ended:
		t.Fatal(err)
	}
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

// send lets each connection send a byte each second, a hundredth of them at a time. In each of the first seconds an
// equal part of them is opened.
func (c *crowd) send(ctx context.Context, seconds int) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		if n == 100*seconds {
			close(c.whole)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		here := min(len(c.conns), (n/100+1)*len(c.conns)/seconds)
		for i := n % 100; i < here; i += 100 {
			if c.conns[i] != nil {
				if _, err := c.conns[i].Write([]byte(" ")); err == nil {
					continue
				}
				c.cut++
				_ = c.conns[i].Close()
			}
			if err := c.come(ctx, i); err != nil && ctx.Err() == nil {
				return fmt.Errorf("slow sender %d: %w", i+1, err)
			}
		}
	}
}

// leave closes the connections and returns how often one was cut.
func (c *crowd) leave(t *testing.T) (cut int) {
	t.Helper()
	c.stop()
	if err := <-c.ended; err != nil {
		t.Fatal(err)
	}
	for _, conn := range c.conns {
		if conn != nil { // nil: stopped between two connections
			_ = conn.Close()
		}
	}
	time.Sleep(time.Second) // the service notices
	return c.cut
}
