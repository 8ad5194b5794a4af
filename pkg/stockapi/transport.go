package stockapi

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// dialer connects to the replicas.
type dialer struct {
	net.Dialer
	serverName string // in the certificates; empty: the host that is called
}

func newDialer() *dialer {
	return &dialer{Dialer: net.Dialer{Timeout: connectLimit, KeepAlive: 15 * time.Second}}
}

// connectLimit bounds the time to connect and, with HTTPS, also the time of the handshake.
const connectLimit = 2 * time.Second

// transport returns a transport for many concurrent calls to few hosts.
func (d *dialer) transport() *http.Transport {
	return &http.Transport{
		DialContext:         d.dial,
		DialTLSContext:      d.dialTLS,
		MaxIdleConns:        4096,
		MaxIdleConnsPerHost: 1024,
		IdleConnTimeout:     60 * time.Second,
		DisableCompression:  true,
	}
}

// errUnreached means that no connection was made, so that nothing can have happened.
var errUnreached = errors.New("not connected")

// dialTLS is dial with TLS. A server without a valid certificate counts as not reached.
func (d *dialer) dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	plain, err := d.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	host, _, _ := net.SplitHostPort(addr) // dial has read it
	conn := tls.Client(plain, &tls.Config{ServerName: cmp.Or(d.serverName, host), MinVersion: tls.VersionTLS12})
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreached, errors.Join(err, plain.Close()))
	}
	return conn, nil
}

// dial connects to an address of the name. Its error is errUnreached.
func (d *dialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreached, err)
	}
	return conn, nil
}
