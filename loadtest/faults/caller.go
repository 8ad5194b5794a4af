package faults

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// caller is the server that a replica calls from its point, and waits for.
type caller struct {
	server   *http.Server
	listener net.Listener
	serving  sync.WaitGroup
}

func newCaller(ctx context.Context, reached func(replica int) error) (*caller, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for strikes: %w", err)
	}
	c := &caller{listener: listener}
	c.server = &http.Server{
		ReadHeaderTimeout: 5 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var replica int
			if _, err := fmt.Sscanf(r.URL.Path, "/%d", &replica); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			if err := reached(replica); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		}),
	}
	c.serving.Go(func() { _ = c.server.Serve(listener) }) // always ErrServerClosed: the listener is ours
	return c, nil
}

func (c *caller) url(replica int) string {
	return fmt.Sprintf("http://%s/%d", c.listener.Addr(), replica)
}

func (c *caller) close() error {
	err := c.server.Close()
	c.serving.Wait()
	return err
}
