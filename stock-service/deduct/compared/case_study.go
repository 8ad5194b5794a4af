package compared

import (
	"context"
	"errors"
	"fmt"

	"orderstock/pkg/coordination"
	"orderstock/pkg/operation"
	"orderstock/pkg/zklock"
	"orderstock/stock-service/deduct"
)

// caseStudy locks as the case study was published: one lock for all products, named after the method, and a new
// ZooKeeper session for each lock. All its faults except the slowness are fixed: the lock is released after the commit,
// and only the holder deletes its node.
type caseStudy struct {
	*deduct.UnderLocks
	cfg Config
}

const caseStudyLock = "/reduceStock"

func newCaseStudy(cfg Config) deduct.Strategy {
	s := &caseStudy{cfg: cfg}
	one := func([]operation.Item) []deduct.Acquire { return []deduct.Acquire{s.acquire} }
	s.UnderLocks = deduct.NewUnderLocks(cfg.Config, one)
	return s
}

// acquire takes the lock in a new session, which ends with the lock.
func (s *caseStudy) acquire(ctx context.Context) (deduct.Lock, error) {
	session, err := coordination.Connect(ctx, s.cfg.Config.Config)
	if err != nil {
		return deduct.Lock{}, err
	}
	lock, err := zklock.NewMutex(session, s.cfg.Root+caseStudyLock, zklock.WithHandoff(1, 0)).Acquire(ctx)
	if err != nil {
		return deduct.Lock{}, errors.Join(err, session.Close())
	}
	held := deduct.HeldLock(lock)
	held.Release = func(ctx context.Context) error { return errors.Join(lock.Release(ctx), session.Close()) }
	return held, nil
}

// Ready implements deduct.Strategy.
func (s *caseStudy) Ready(ctx context.Context) error {
	session, err := coordination.Connect(ctx, s.cfg.Config.Config)
	if err != nil {
		return fmt.Errorf("connect to zookeeper: %w", err)
	}
	return session.Close()
}

// Close implements deduct.Strategy.
func (*caseStudy) Close() error { return nil }
