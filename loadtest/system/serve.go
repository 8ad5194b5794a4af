package system

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Serve serves h on a free local port until stop is called, which ends the requests in progress.
func Serve(h http.Handler) (addr string, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a free local port: there is nothing to wait for
	if err != nil {
		return "", nil, fmt.Errorf("listen on a free port: %w", err)
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // always ErrServerClosed: the listener is ours
	return listener.Addr().String(), func() {
		_ = server.Close()
		serving.Wait()
	}, nil
}
