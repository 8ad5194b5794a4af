package httpapi

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"runtime"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// ServerConfig configures Serve.
type ServerConfig struct {
	// Addr is where the service listens, as host:port; port 0 takes a free one.
	Addr string
	// TLS, if not nil, makes the service speak HTTPS. OpsAddr speaks HTTP in any case.
	TLS *tls.Config
	// MaxHeader bounds a request's line and headers, in bytes. Default 16 KiB.
	MaxHeader int
	// OpsAddr, if not empty, is the address of /metrics and /debug/pprof. Keep it private.
	OpsAddr string
	// Metrics are served at /metrics. Default: prometheus.DefaultGatherer.
	Metrics prometheus.Gatherer
	// ShutdownDelay is how long a stop keeps the port open while the health checks fail, for proxies to send their
	// requests elsewhere. Default none.
	ShutdownDelay time.Duration
	// ShutdownTimeout bounds the wait for the requests in flight. Default 20 s.
	ShutdownTimeout time.Duration
	// OnListen, if not nil, is called with the address once the port is bound.
	OnListen func(addr string)
}

// Serve binds the address and serves h until ctx ends. Then, for ShutdownDelay, an engine of NewEngine answers 503 to
// the health checks and closes each connection after its next answer. After that Serve accepts no further connections
// and waits for the requests in flight. It returns nil if all of them got their answers.
func Serve(ctx context.Context, cfg ServerConfig, h http.Handler, log *slog.Logger) error {
	cfg.ShutdownTimeout = cmp.Or(cfg.ShutdownTimeout, 20*time.Second)
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", cfg.Addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", cfg.Addr, err)
	}
	server := newServer(h, log)
	requests, leave := withLeaving(ctx)
	server.BaseContext = func(net.Listener) context.Context { return requests }
	server.TLSConfig, server.MaxHeaderBytes = cfg.TLS, cmp.Or(cfg.MaxHeader, server.MaxHeaderBytes)
	servers := []*http.Server{server}
	listeners := []net.Listener{listener}
	if cfg.OpsAddr != "" {
		ops, err := new(net.ListenConfig).Listen(ctx, "tcp", cfg.OpsAddr)
		if err != nil {
			return errors.Join(fmt.Errorf("listen on %s: %w", cfg.OpsAddr, err), listener.Close())
		}
		servers = append(servers, newServer(opsHandler(cfg.Metrics), log))
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
			serve := s.Serve
			if s.TLSConfig != nil {
				serve = func(l net.Listener) error { return s.ServeTLS(l, "", "") }
			}
			if err := serve(listeners[i]); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serve %s: %w", listeners[i].Addr(), err)
			}
		})
	}
	select {
	case <-ctx.Done():
		log.Info("stopping", "delay", cfg.ShutdownDelay.String(), "timeout", cfg.ShutdownTimeout.String())
		leave()
		select {
		case <-time.After(cfg.ShutdownDelay):
		case err = <-failed:
		}
	case err = <-failed:
	}
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
		Handler: h,
		// A slow sender that is cut off connects again, which costs more than reading its bytes for some more seconds.
		// TestSlowSendersLeaveOrdersTheirRate measured 0.77 and 0.84 of the rate with 5 s, and 0.87 to 0.89 with 10 s.
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      60 * time.Second,
		IdleTimeout:       120 * time.Second,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

func opsHandler(metrics prometheus.Gatherer) http.Handler {
	if metrics == nil {
		metrics = prometheus.DefaultGatherer
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	addProfiles(mux)
	return mux
}

// addProfiles adds /debug/pprof. Recording the block and mutex profiles slows every wait, so they are recorded only
// during a request with ?seconds=N.
func addProfiles(mux *http.ServeMux) {
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("/debug/pprof/block", whileAsked("block", runtime.SetBlockProfileRate, int(10*time.Microsecond)))
	mux.HandleFunc("/debug/pprof/mutex", whileAsked("mutex", func(rate int) { runtime.SetMutexProfileFraction(rate) }, 10))
}

// whileAsked serves the profile, recorded at the rate for as long as requested.
func whileAsked(profile string, setRate func(int), rate int) http.HandlerFunc {
	var one sync.Mutex // allows one recording at a time
	return func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("seconds") == "" {
			http.Error(w, "say for how long to record: ?seconds=10", http.StatusBadRequest)
			return
		}
		one.Lock()
		defer one.Unlock()
		setRate(rate)
		defer setRate(0)
		pprof.Handler(profile).ServeHTTP(w, r)
	}
}
