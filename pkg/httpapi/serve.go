package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// ServerConfig says where a service listens and how long it may take to stop.
type ServerConfig struct {
	// Addr is where the service listens, as host:port; port 0 takes a free one.
	Addr string
	// OpsAddr, where not empty, is where /metrics and /debug/pprof are served. Keep it private.
	OpsAddr string
	// ShutdownTimeout bounds the wait for the requests in flight. Default 20 s.
	ShutdownTimeout time.Duration
	// OnListen, where not nil, is told the address once the port is bound.
	OnListen func(addr string)
}

// Serve binds the address, serves h until ctx ends, then takes no further
// connections and waits for the requests in flight. It returns nil after a
// stop in which none of them was cut.
func Serve(ctx context.Context, cfg ServerConfig, h http.Handler, log *slog.Logger) error {
	if cfg.ShutdownTimeout <= 0 {
		cfg.ShutdownTimeout = 20 * time.Second
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", cfg.Addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", cfg.Addr, err)
	}
	servers := []*http.Server{newServer(h, log)}
	listeners := []net.Listener{listener}
	if cfg.OpsAddr != "" {
		ops, err := new(net.ListenConfig).Listen(ctx, "tcp", cfg.OpsAddr)
		if err != nil {
			return errors.Join(fmt.Errorf("listen on %s: %w", cfg.OpsAddr, err), listener.Close())
		}
		servers = append(servers, newServer(opsHandler(), log))
		listeners = append(listeners, ops)
	}
	log.Info("listening", "addr", listener.Addr().String())
	if cfg.OnListen != nil {
		cfg.OnListen(listener.Addr().String())
	}

	failed := make(chan error, len(servers))
	var serving sync.WaitGroup
	for i, s := range servers {
		serving.Go(func() {
			if err := s.Serve(listeners[i]); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serve %s: %w", listeners[i].Addr(), err)
			}
		})
	}
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	log.Info("stopping", "timeout", cfg.ShutdownTimeout.String())
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.ShutdownTimeout)
	defer cancel()
	for _, s := range servers {
		if e := s.Shutdown(stop); e != nil {
			err = errors.Join(err, fmt.Errorf("shut down: %w", e), s.Close())
		}
	}
	serving.Wait()
	return err
}

func newServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      60 * time.Second,
		IdleTimeout:       120 * time.Second,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

func opsHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.Handler())
	addProfiles(mux)
	addFaultControl(mux)
	return mux
}

// Check says whether something that the service needs answers.
type Check func(context.Context) error

// Health adds GET /healthz, which answers 200 while the process serves, and
// GET /readyz, which answers 200 while every check passes and 503 with the
// checks' errors otherwise. The checks run together and have two seconds.
func Health(e *gin.Engine, checks map[string]Check) {
	e.GET("/healthz", func(c *gin.Context) { c.JSON(http.StatusOK, gin.H{"status": "ok"}) })
	var failing atomic.Bool
	e.GET("/readyz", func(c *gin.Context) {
		ctx, cancel := context.WithTimeout(c.Request.Context(), 2*time.Second)
		defer cancel()
		var (
			mu      sync.Mutex
			running sync.WaitGroup
			errs    = gin.H{}
		)
		for name, check := range checks {
			running.Go(func() {
				if err := check(ctx); err != nil {
					mu.Lock()
					errs[name] = err.Error()
					mu.Unlock()
				}
			})
		}
		running.Wait()
		if len(errs) == 0 {
			failing.Store(false)
			c.JSON(http.StatusOK, gin.H{"status": "ready"})
			return
		}
		if !failing.Swap(true) {
			Logger(c.Request.Context()).Warn("not ready", "checks", errs)
		}
		c.JSON(http.StatusServiceUnavailable, gin.H{"status": "not ready", "checks": errs})
	})
}

// Healthcheck asks url and returns nil if it answers 200: what a container's
// health check runs.
func Healthcheck(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 4*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("ask %s: %w", url, err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("ask %s: %w", url, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 4096)) // only for the message
		return fmt.Errorf("%s answers %s: %s", url, resp.Status, strings.TrimSpace(string(body)))
	}
	return nil
}
