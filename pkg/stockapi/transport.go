package stockapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"
)

// newTransport returns a transport for many concurrent calls to few hosts. If a
// name has several addresses, connections take them in turn, and so spread over the
// replicas.
func newTransport() *http.Transport {
	d := &dialer{Dialer: net.Dialer{Timeout: 2 * time.Second, KeepAlive: 15 * time.Second}}
	return &http.Transport{
		DialContext:         d.dial,
		MaxIdleConns:        4096,
		MaxIdleConnsPerHost: 1024,
		IdleConnTimeout:     60 * time.Second,
		DisableCompression:  true,
	}
}

// errUnreached says that no connection was made, so that nothing can have happened.
var errUnreached = errors.New("not connected")

type dialer struct {
	net.Dialer
	turn atomic.Uint64
}

// dial connects to the next address of the name. If that refuses the connection,
// it tries the one after it. Its error is errUnreached.
func (d *dialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := d.dialOne(ctx, network, addr)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreached, err)
	}
	return conn, nil
}

func (d *dialer) dialOne(ctx context.Context, network, addr string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	addrs := []string{host}
	if net.ParseIP(host) == nil {
		if addrs, err = net.DefaultResolver.LookupHost(ctx, host); err != nil {
			return nil, err
		}
	}
	first := d.turn.Add(1)
	var refused error
	for i := range addrs {
		next := addrs[(first+uint64(i))%uint64(len(addrs))]
		conn, err := d.DialContext(ctx, network, net.JoinHostPort(next, port))
		if err == nil {
			return conn, nil
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return nil, err
		}
		refused = err
	}
	return nil, refused
}
