package system

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/Shopify/toxiproxy/v2/toxics"
	"github.com/rs/zerolog"

	"orderstock/pkg/servers"
)

// The wires that leave a replica, named after their other end.
const (
	ToMySQL     = "mysql"
	ToRedis     = "redis"
	ToZooKeeper = "zookeeper"
	ToStock     = "stock"
)

// Wire is a proxied connection from one replica to one server. Its faults last until Mend. It is safe for concurrent
// use.
type Wire struct {
	proxy *toxiproxy.Proxy

	mu       sync.Mutex
	counters []*counter // of all faults so far
}

// NewWire starts a proxy on a free port in front of upstream, a host with its port.
func NewWire(name, upstream string) (*Wire, error) {
	port, err := servers.FreePort() // no outgoing connection takes it while the wire is cut
	if err != nil {
		return nil, err
	}
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	w := &Wire{proxy: toxiproxy.NewProxy(server, name, "127.0.0.1:"+strconv.Itoa(port), upstream)}
	if err := w.listen(); err != nil {
		return nil, fmt.Errorf("start proxy %s: %w", name, err)
	}
	return w, nil
}

// Addr returns the address that the replica connects to.
func (w *Wire) Addr() string { return w.proxy.Listen }

// Broken reports whether a fault is on: the wire has a toxic, or refuses connections.
func (w *Wire) Broken() bool {
	w.proxy.Lock()
	enabled := w.proxy.Enabled
	w.proxy.Unlock()
	return !enabled || len(w.proxy.Toxics.GetToxicArray()) > 0
}

// Struck counts the effects of the faults so far: the pieces of data that the wire delayed or lost, and the connections
// that it closed or reset. Refused connections are not counted.
func (w *Wire) Struck() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := int64(0)
	for _, c := range w.counters {
		n += c.n.Load()
	}
	return int(n)
}

// LoseReplies lets requests through and drops the replies.
func (w *Wire) LoseReplies() error { return w.poison("timeout", "downstream", nil) }

// LoseRequests drops sent data; nothing arrives, and the sender gets no error.
func (w *Wire) LoseRequests() error { return w.poison("timeout", "upstream", nil) }

// Slow delays data by d in each direction, plus or minus a fifth.
func (w *Wire) Slow(d time.Duration) error {
	delay := map[string]any{"latency": d.Milliseconds(), "jitter": d.Milliseconds() / 5}
	return errors.Join(w.poison("latency", "upstream", delay), w.poison("latency", "downstream", delay))
}

// Reset closes every connection at once and answers the first bytes of every
// new one with a TCP reset.
func (w *Wire) Reset() error {
	counted := w.count("reset_peer", "downstream", true)
	w.proxy.Stop()
	return errors.Join(counted, w.add("reset_peer", "upstream", map[string]any{"timeout": 0}), w.listen())
}

// Cut closes every connection and refuses new ones.
func (w *Wire) Cut() error {
	err := w.count("cut", "downstream", true)
	w.proxy.Stop()
	return err
}

// Mend ends all faults. Connections that lost bytes are closed.
func (w *Wire) Mend(ctx context.Context) error {
	w.proxy.Toxics.ResetToxics(ctx)
	if err := w.listen(); err != nil && !errors.Is(err, toxiproxy.ErrProxyAlreadyStarted) {
		return fmt.Errorf("mend wire %s: %w", w.proxy.Name, err)
	}
	return nil
}

// listen starts the proxy. A process that is being started elsewhere in this program has a copy of the port's closed
// socket until it executes its own program, so listen tries for a second.
func (w *Wire) listen() error {
	var err error
	for range 50 {
		if err = w.proxy.Start(); !errors.Is(err, syscall.EADDRINUSE) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

// Close closes every connection and the port.
func (w *Wire) Close() { w.proxy.Stop() }

// poison adds a toxic, behind one that counts the data that reaches it.
func (w *Wire) poison(kind, stream string, attributes map[string]any) error {
	if err := w.count(kind, stream, false); err != nil {
		return err
	}
	return w.add(kind, stream, attributes)
}

func (w *Wire) add(kind, stream string, attributes map[string]any) error {
	_, err := w.toxic(map[string]any{"type": kind, "stream": stream, "attributes": attributes})
	return err
}

// count adds a counter for a fault: of the connections that end, or of the data that passes.
func (w *Wire) count(fault, stream string, ends bool) error {
	added, err := w.toxic(map[string]any{
		"name": "count " + fault + " " + stream, "type": counterType, "stream": stream,
		"attributes": map[string]any{"ends": ends},
	})
	if errors.Is(err, toxiproxy.ErrToxicAlreadyExists) { // so does the fault
		return nil
	} else if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counters = append(w.counters, added.Toxic.(*counter))
	return nil
}

func (w *Wire) toxic(of map[string]any) (*toxics.ToxicWrapper, error) {
	toxic, err := json.Marshal(of)
	if err != nil {
		return nil, fmt.Errorf("encode toxic: %w", err)
	}
	added, err := w.proxy.Toxics.AddToxicJson(strings.NewReader(string(toxic)))
	if err != nil {
		return nil, fmt.Errorf("add %s to wire %s: %w", of["type"], w.proxy.Name, err)
	}
	return added, nil
}

const counterType = "counter"

func init() { toxics.Register(counterType, new(counter)) }

// counter is a toxic that lets everything pass and counts it, or the connections that end.
type counter struct {
	Ends bool `json:"ends"`

	n atomic.Int64
}

// Pipe implements toxics.Toxic.
func (c *counter) Pipe(stub *toxics.ToxicStub) {
	for {
		select {
		case <-stub.Interrupt:
			return
		case data := <-stub.Input:
			if (data == nil) == c.Ends {
				c.n.Add(1)
			}
			if data == nil {
				stub.Close()
				return
			}
			stub.Output <- data
		}
	}
}
