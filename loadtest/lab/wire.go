package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// The wires that leave a replica, by what they lead to.
const (
	ToMySQL     = "mysql"
	ToRedis     = "redis"
	ToZooKeeper = "zookeeper"
	ToStock     = "stock"
)

// Wire is a proxied connection from one replica to one server. Its faults
// last until Mend. It is safe for concurrent use, as toxiproxy is.
type Wire struct {
	proxy *toxiproxy.Proxy
}

// newWire starts a proxy on a free port in front of upstream.
func newWire(name, upstream string) (*Wire, error) {
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	w := &Wire{proxy: toxiproxy.NewProxy(server, name, "127.0.0.1:0", upstream)}
	if err := w.proxy.Start(); err != nil {
		return nil, fmt.Errorf("start proxy %s: %w", name, err)
	}
	return w, nil
}

// Addr returns the address at which the replica connects.
func (w *Wire) Addr() string { return w.proxy.Listen }

// LoseReplies lets requests through and drops what comes back.
func (w *Wire) LoseReplies() error { return w.poison("timeout", "downstream", nil) }

// LoseRequests drops what is sent; nothing arrives, and nothing tells the sender.
func (w *Wire) LoseRequests() error { return w.poison("timeout", "upstream", nil) }

// Slow delays what goes through by d in each direction, give or take a fifth.
func (w *Wire) Slow(d time.Duration) error {
	delay := map[string]any{"latency": d.Milliseconds(), "jitter": d.Milliseconds() / 5}
	return errors.Join(w.poison("latency", "upstream", delay), w.poison("latency", "downstream", delay))
}

// Reset closes every connection at once and answers the first bytes of every
// new one with a TCP reset.
func (w *Wire) Reset() error {
	w.proxy.Stop()
	return errors.Join(w.poison("reset_peer", "upstream", map[string]any{"timeout": 0}), w.proxy.Start())
}

// Cut closes every connection and refuses new ones.
func (w *Wire) Cut() { w.proxy.Stop() }

// Mend ends all faults. Connections that lost bytes are closed.
func (w *Wire) Mend(ctx context.Context) error {
	w.proxy.Toxics.ResetToxics(ctx)
	if err := w.proxy.Start(); err != nil && !errors.Is(err, toxiproxy.ErrProxyAlreadyStarted) {
		return fmt.Errorf("mend wire %s: %w", w.proxy.Name, err)
	}
	return nil
}

func (w *Wire) close() { w.proxy.Stop() }

func (w *Wire) poison(kind, stream string, attributes map[string]any) error {
	toxic, err := json.Marshal(map[string]any{"type": kind, "stream": stream, "attributes": attributes})
	if err != nil {
		return fmt.Errorf("encode toxic: %w", err)
	}
	if _, err := w.proxy.Toxics.AddToxicJson(strings.NewReader(string(toxic))); err != nil {
		return fmt.Errorf("add %s to wire %s: %w", kind, w.proxy.Name, err)
	}
	return nil
}
