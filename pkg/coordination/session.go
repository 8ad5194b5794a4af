// Package coordination is a service's part in ZooKeeper: its session, its ids, the election of the replica that
// leads, and the addresses of replicas. All of it begins in the background, so that a service starts, and answers
// requests that need no ZooKeeper, while ZooKeeper is away.
package coordination

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"orderstock/pkg/retry"
	"orderstock/pkg/zklock"
)

// Config says where ZooKeeper is and how a process is known there.
type Config struct {
	// ZooKeeper lists the servers, host:port. All nodes are below Root.
	ZooKeeper []string
	Root      string
	// Auth is the user:password that opens the nodes; empty: they are open to all. With it, Open closes the nodes
	// that are open.
	Auth           string
	SessionTimeout time.Duration
	// Metrics, if not nil, is where Open registers the session's gauge.
	Metrics prometheus.Registerer
	Log     *slog.Logger
}

// longPauses are the ones between tries that fail for a reason which stays, such as a password that ZooKeeper refuses.
var longPauses = retry.Policy{First: 500 * time.Millisecond, Max: 10 * time.Second}

// errChroot refuses what package zklock would put before the paths of the locks alone.
var errChroot = errors.New("ZOOKEEPER_ADDRS ends with a path (chroot): set ZOOKEEPER_ROOT in its place")

// Connect returns a new session as soon as ZooKeeper grants it. It fails only if ctx ends first.
func Connect(ctx context.Context, cfg Config) (*zklock.Session, error) {
	return connect(ctx, cfg, func(error) {})
}

// connect is Connect, and calls note with each failure.
func connect(ctx context.Context, cfg Config, note func(error)) (*zklock.Session, error) {
	chroot := slices.ContainsFunc(cfg.ZooKeeper, func(addr string) bool { return strings.Contains(addr, "/") })
	return retry.Do(ctx, longPauses, func() (session *zklock.Session, err error) {
		if err = errChroot; !chroot {
			session, err = zklock.Connect(ctx, cfg.ZooKeeper, zklock.WithSessionTimeout(cfg.SessionTimeout),
				zklock.WithAuth("digest", []byte(cfg.Auth)), zklock.WithLogger(cfg.Log))
		}
		if err != nil && ctx.Err() == nil {
			note(err)
			cfg.Log.Warn("no ZooKeeper session", "error", err.Error())
		}
		return session, err
	})
}

// Session is a process's session in ZooKeeper, which is made in the background. Its methods are safe for
// concurrent use.
type Session struct {
	cfg    Config
	name   string
	cancel context.CancelFunc
	ready  chan struct{} // closed once session or err is set

	session *zklock.Session
	err     error

	failed    atomic.Pointer[error] // the last failure to get ready
	announced atomic.Bool
}

// Open begins to connect. Name distinguishes the session from others of the process and of other services.
// Callers must Close the session.
func Open(name string, cfg Config) *Session {
	ctx, cancel := context.WithCancel(context.Background()) // the session's lifetime: until Close
	s := &Session{cfg: cfg, name: name, cancel: cancel, ready: make(chan struct{})}
	promauto.With(cfg.Metrics).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "zookeeper_session_up", Help: "1 while there is a session in ZooKeeper.",
		ConstLabels: prometheus.Labels{"session": name},
	}, s.up)
	go func() {
		defer close(s.ready)
		note := func(err error) { s.failed.Store(&err) }
		if s.session, s.err = connect(ctx, cfg, note); s.err == nil && cfg.Auth != "" {
			s.err = closeOpenNodes(ctx, s.session, cfg, note)
		}
	}()
	return s
}

// up returns 1 while the process is connected to ZooKeeper in its session, and 0 otherwise.
func (s *Session) up() float64 {
	select {
	case <-s.ready:
	default:
		return 0
	}
	if s.session == nil || s.session.Conn().State() != zk.StateHasSession {
		return 0
	}
	return 1
}

// Get waits for the session until ctx ends. Its error then says why there is none, if that is known.
func (s *Session) Get(ctx context.Context) (*zklock.Session, error) {
	select {
	case <-s.ready:
		return s.session, s.err
	case <-ctx.Done():
	}
	if failed := s.failed.Load(); failed != nil {
		return nil, fmt.Errorf("connect to zookeeper: %w (last failure: %w)", ctx.Err(), *failed)
	}
	return nil, fmt.Errorf("connect to zookeeper: %w", ctx.Err())
}

// Ready returns nil while ZooKeeper answers in the session.
func (s *Session) Ready(ctx context.Context) error {
	session, err := s.Get(ctx)
	if err != nil {
		return err
	}
	if _, _, err := session.Conn().Exists("/"); err != nil {
		return fmt.Errorf("ask zookeeper: %w", err)
	}
	return nil
}

// Close ends the session, and with it every lock that is left.
func (s *Session) Close() error {
	s.cancel()
	<-s.ready
	if s.session == nil {
		return nil
	}
	if err := s.session.Close(); err != nil && !errors.Is(err, zklock.ErrSessionClosed) {
		return fmt.Errorf("close zookeeper session: %w", err)
	}
	return nil
}

// begin runs work in the background once there is a session. The context of work ends with ctx or when stop is
// called. Stop waits until work has returned.
func (s *Session) begin(ctx context.Context, work func(context.Context, *zklock.Session)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var working sync.WaitGroup
	working.Go(func() {
		if session, err := s.Get(ctx); err == nil {
			work(ctx, session)
		}
	})
	return func() {
		cancel()
		working.Wait()
	}
}

// Lead is zklock.Session.Lead in the background, for the replicas that do the work of that name. It ends when ctx ends
// or stop is called. Stop waits until work has returned.
func (s *Session) Lead(ctx context.Context, name string, rest time.Duration,
	work func(context.Context) error,
) (stop func()) {
	return s.begin(ctx, func(ctx context.Context, session *zklock.Session) {
		once := func(ctx context.Context, _ *zklock.Lock) error { return work(ctx) }
		if err := session.Lead(ctx, s.cfg.Root+"/"+name, rest, once, zklock.WithLabel(s.name)); ctx.Err() == nil {
			s.cfg.Log.Error("leads no more", "what", name, "error", err)
		}
	})
}
