//go:build !race

package zklock_test

import (
	"encoding/binary"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock"
)

const opSetWatches = 101

// renewals records, on the newest connection, the zxid that the client says it has seen: in its
// handshake, and each time it sets its watches again.
type renewals struct {
	mu      sync.Mutex
	conn    net.Conn
	hello   int64
	renewed []int64
	next    chan struct{} // closed at the next renewal
}

func (r *renewals) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout(network, address, timeout)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conn, r.hello, r.renewed = conn, -1, nil
	return &renewalConn{conn, r}, nil
}

type renewalConn struct {
	net.Conn
	r *renewals
}

func (c *renewalConn) Write(p []byte) (int, error) {
	c.r.record(p)
	return c.Conn.Write(p)
}

func (r *renewals) record(p []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.hello < 0:
		r.hello = int64(binary.BigEndian.Uint64(p[8:]))
	case len(p) >= 20 && binary.BigEndian.Uint32(p[8:]) == opSetWatches:
		r.renewed = append(r.renewed, int64(binary.BigEndian.Uint64(p[12:])))
		if len(r.renewed) == renewalPackets && r.next != nil { // it may reconnect once more
			close(r.next)
			r.next = nil
		}
	}
}

// The library sets its watches again in packets of 128 KiB, and each holds the zxid seen when it is made.
const (
	watchedNodes   = 20000
	renewalPackets = 10 // at least
)

// watch sets so many watches that setting them again takes a moment.
func (r *renewals) watch(t *testing.T, conn *zk.Conn) {
	t.Helper()
	path := newRoot(t) + "/" + strings.Repeat("x", 70)
	const atOnce = 100
	var all sync.WaitGroup
	for i := range atOnce {
		all.Go(func() {
			for k := i; k < watchedNodes; k += atOnce {
				if _, _, _, err := conn.ExistsW(fmt.Sprintf("%s-%d", path, k)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// misses reconnects, with requests that wait for the connection. It reports whether the client, setting
// its watches again, sent another zxid than in its handshake: it never gets the events between the two.
func (r *renewals) misses(t *testing.T, conn *zk.Conn) bool {
	t.Helper()
	var all sync.WaitGroup
	stop := make(chan struct{})
	for range 20 {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_, _, _ = conn.Exists("/") // fails while the connection is away
				}
			}
		})
	}
	defer all.Wait()
	defer close(stop)
	written := newRoot(t) + "-written-"
	renewed := make(chan struct{})
	r.mu.Lock()
	r.next = renewed
	_ = r.conn.Close()
	r.mu.Unlock()
	writer := connect(t).Conn()
	_, err := writer.Create(written, nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
	if err != nil { // there is something to miss
		t.Fatal(err)
	}
	await(t, renewed, "the renewal of the watches")
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.renewed, func(seen int64) bool { return seen != r.hello })
}

// The library reads the zxid that it has seen while answers change it, so that it may miss the events
// between. When this test fails, the library has been corrected, and package conn can leave zxids
// alone. The test does not run under the race detector, which would report the library's race.
// It takes more than 10 s on a busy machine: it sets 20 000 watches, and reconnects until the race is lost.
func TestTheLibraryMissesEvents(t *testing.T) {
	r := &renewals{}
	conn, events, err := zk.Connect([]string{zookeeper(t)}, 10*time.Second,
		zk.WithDialer(r.dial), zk.WithLogInfo(false), zk.WithLogger(quiet{}))
	must(t, err)
	defer func() {
		conn.Close()
		for range events {
		}
	}()
	r.watch(t, conn)
	deadline := time.Now().Add(time.Minute)
	for reconnects := 1; !r.misses(t, conn); reconnects++ {
		if reconnects >= 20 && time.Now().After(deadline) {
			t.Fatalf("the library did not miss anything in %d reconnects, on %d processors; on one it hardly does",
				reconnects, runtime.NumCPU())
		}
	}
}

func TestNoEventIsMissed(t *testing.T) {
	r := &renewals{}
	s := connect(t, zklock.WithDialer(r.dial))
	r.watch(t, s.Conn())
	for range 2 {
		if r.misses(t, s.Conn()) {
			t.Error("events may be missed")
		}
	}
}
