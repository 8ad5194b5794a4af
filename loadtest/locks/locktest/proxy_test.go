package locktest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// proxy is a toxiproxy before a ZooKeeper server.
type proxy struct {
	*toxiproxy.Proxy
	script *script
}

// newProxy starts a proxy that lets all through until its script or a toxic says otherwise.
func newProxy(t *testing.T, upstream string) *proxy {
	t.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	p := &proxy{toxiproxy.NewProxy(server, t.Name(), "127.0.0.1:0", upstream), newScript(t)}
	for _, direction := range []direction{requests, answers} {
		p.add(t, fmt.Sprintf(`{"name":"script-%s","type":%q,"stream":%q,"attributes":{"script":%q,"direction":%q}}`,
			direction, scriptToxic, direction, p.script.name, direction))
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

func (p *proxy) add(t *testing.T, toxic string) {
	t.Helper()
	if _, err := p.Toxics.AddToxicJson(strings.NewReader(toxic)); err != nil {
		t.Fatalf("add toxic %s: %v", toxic, err)
	}
}

// servers names the proxy twice: with one address the client library waits a second before each reconnect.
func (p *proxy) servers() []string { return []string{p.Listen, p.Listen} }

// blackhole swallows all that comes, in both directions, and keeps connections open.
func (p *proxy) blackhole(t *testing.T) {
	t.Helper()
	for _, direction := range []direction{requests, answers} {
		p.add(t, fmt.Sprintf(`{"name":"hole-%s","type":"timeout","stream":%q,"attributes":{"timeout":0}}`,
			direction, direction))
	}
}

// delay adds latency to the answers.
func (p *proxy) delay(t *testing.T, milliseconds int) {
	t.Helper()
	p.add(t, fmt.Sprintf(`{"name":"delay","type":"latency","stream":%q,"attributes":{"latency":%d,"jitter":%d}}`,
		answers, milliseconds, milliseconds/2))
}

// heal ends the blackhole. Connections from its time are cut.
func (p *proxy) heal(t *testing.T) {
	t.Helper()
	for _, direction := range []direction{requests, answers} {
		if err := p.Toxics.RemoveToxic(context.Background(), "hole-"+string(direction)); err != nil {
			t.Fatal(err)
		}
	}
}

// away breaks each connection at its first packet, until back. The listener stays, as its port
// would be lost to others.
func (p *proxy) away() { p.script.cutAt(func(frame) bool { return true }) }

func (p *proxy) back() { p.script.cutAt(nil) }
