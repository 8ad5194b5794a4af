package deduct

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"orderstock/pkg/zklock"
	"orderstock/stock-service/stock"
)

// zkSession is the process's one ZooKeeper session for locks. It connects in
// the background, so that the service starts, and says 503, while ZooKeeper is away.
type zkSession struct {
	cancel context.CancelFunc
	ready  chan struct{} // closed when session or err is there
	done   sync.WaitGroup

	session *zklock.Session
	err     error
}

// openSession begins to connect. The configuration is that of the strategy.
func openSession(cfg Config) *zkSession {
	ctx, cancel := context.WithCancel(context.Background()) // the session's lifetime: until Close
	s := &zkSession{cancel: cancel, ready: make(chan struct{})}
	s.done.Go(func() {
		defer close(s.ready)
		s.session, s.err = connect(ctx, cfg)
	})
	return s
}

func connect(ctx context.Context, cfg Config) (*zklock.Session, error) {
	return zklock.Connect(ctx, cfg.ZooKeeper, zklock.WithSessionTimeout(cfg.SessionTimeout), zklock.WithLogger(cfg.Log))
}

// get returns the session, as soon as there is one.
func (s *zkSession) get(ctx context.Context) (*zklock.Session, error) {
	select {
	case <-s.ready:
		return s.session, s.err
	case <-ctx.Done():
		return nil, fmt.Errorf("connect to zookeeper: %w", ctx.Err())
	}
}

// acquire takes the mutex at path.
func (s *zkSession) acquire(ctx context.Context, path string, opts ...zklock.Option) (Lock, error) {
	session, err := s.get(ctx)
	if err != nil {
		return Lock{}, err
	}
	lock, err := zklock.NewMutex(session, path, opts...).Acquire(ctx)
	if err != nil {
		return Lock{}, err
	}
	return heldMutex(lock), nil
}

// heldMutex is a lock of package zklock as the strategies see it.
func heldMutex(lock *zklock.Lock) Lock {
	return Lock{Token: stock.Token(lock.Token().Bytes()), Alive: lock.Context(), Release: lock.Release}
}

// Ready returns nil while the session is there.
func (s *zkSession) Ready(ctx context.Context) error {
	session, err := s.get(ctx)
	if err != nil {
		return err
	}
	if _, _, err := session.Conn().Exists("/"); err != nil {
		return fmt.Errorf("ask zookeeper: %w", err)
	}
	return nil
}

// Close ends the session and with it every lock that is left.
func (s *zkSession) Close() error {
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
