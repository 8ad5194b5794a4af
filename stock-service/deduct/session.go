package deduct

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-zookeeper/zk"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"orderstock/pkg/zklock"
	"orderstock/stock-service/stock"
)

// Session is the ZooKeeper session in which a process holds all its locks. It
// connects in the background, so that the service starts, and answers 503, while
// ZooKeeper is away.
type Session struct {
	cancel context.CancelFunc
	ready  chan struct{} // closed once session or err is set
	done   sync.WaitGroup

	session *zklock.Session
	err     error
	hooks   zklock.Hooks
}

// OpenSession begins to connect. Callers must Close the session.
func OpenSession(cfg Config) *Session {
	ctx, cancel := context.WithCancel(context.Background()) // the session's lifetime: until Close
	s := &Session{cancel: cancel, ready: make(chan struct{}), hooks: newLockHooks(cfg.Metrics)}
	promauto.With(cfg.Metrics).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "zookeeper_session_up", Help: "1 while there is a session in ZooKeeper.",
	}, s.up)
	s.done.Go(func() {
		defer close(s.ready)
		s.session, s.err = Connect(ctx, cfg)
	})
	return s
}

// Connect returns a new session as soon as ZooKeeper grants it.
func Connect(ctx context.Context, cfg Config) (*zklock.Session, error) {
	return zklock.Connect(ctx, cfg.ZooKeeper, zklock.WithSessionTimeout(cfg.SessionTimeout),
		zklock.WithAuth("digest", []byte(cfg.Auth)), zklock.WithLogger(cfg.Log))
}

// up is 1 while there is a session that ZooKeeper has not ended.
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

// Get waits for the session until ctx ends.
func (s *Session) Get(ctx context.Context) (*zklock.Session, error) {
	select {
	case <-s.ready:
		return s.session, s.err
	case <-ctx.Done():
		return nil, fmt.Errorf("connect to zookeeper: %w", ctx.Err())
	}
}

// Acquire takes the mutex at path.
func (s *Session) Acquire(ctx context.Context, path string, opts ...zklock.Option) (Lock, error) {
	session, err := s.Get(ctx)
	if err != nil {
		return Lock{}, err
	}
	lock, err := zklock.NewMutex(session, path, append(opts, zklock.WithHooks(s.hooks))...).Acquire(ctx)
	if err != nil {
		return Lock{}, err
	}
	return HeldLock(lock), nil
}

// Holder returns the token of the present holder of the mutex at path, in whichever
// process, without its local part; zero if there is none.
func (s *Session) Holder(ctx context.Context, path string) (stock.Token, error) {
	session, err := s.Get(ctx)
	if err != nil {
		return stock.Token{}, err
	}
	status, err := zklock.Inspect(ctx, session, path)
	if err != nil || len(status.Holders) == 0 {
		return stock.Token{}, err
	}
	return stock.Token(status.Holders[0].Token.Bytes()), nil
}

// HeldLock returns a lock that package zklock or herd holds as a Lock.
func HeldLock(lock interface {
	Token() zklock.Token
	Context() context.Context
	Release(ctx context.Context) error
},
) Lock {
	return Lock{Token: stock.Token(lock.Token().Bytes()), Alive: lock.Context(), Release: lock.Release}
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
	s.done.Wait()
	if s.session == nil {
		return nil
	}
	if err := s.session.Close(); err != nil && !errors.Is(err, zklock.ErrSessionClosed) {
		return fmt.Errorf("close zookeeper session: %w", err)
	}
	return nil
}
