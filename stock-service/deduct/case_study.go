package deduct

import (
	"context"
	"errors"
	"fmt"

	"orderstock/pkg/zklock"
	"orderstock/stock-service/stock"
)

// caseStudy locks as the case study was published: one lock for all goods,
// named after the method, and a new ZooKeeper session for each lock. What was
// wrong there beside being slow is put right: the lock is released after the
// commit, and its node is the holder's own.
type caseStudy struct {
	keeper
	cfg Config
}

const caseStudyLock = "/reduceStock"

func newCaseStudy(cfg Config) (Strategy, error) {
	return &caseStudy{keeper{cfg.LockTimeout, cfg.Log, cfg.WrapLock}, cfg}, nil
}

// Deduct implements stock.Deducter.
func (s *caseStudy) Deduct(ctx context.Context, r stock.Request) (stock.Operation, error) {
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	lock, err := s.take(limited, s.connectAndAcquire)
	cancel()
	if err != nil {
		return stock.Operation{}, err
	}
	defer s.giveBack(ctx, []Lock{lock})
	ctx, cancel = whileAlive(ctx, lock)
	defer cancel()
	return s.cfg.Ledger.Deduct(ctx, r, stock.FenceAll(lock.Token))
}

// connectAndAcquire takes the lock in a session of its own, which ends with it.
func (s *caseStudy) connectAndAcquire(ctx context.Context) (Lock, error) {
	session, err := connect(ctx, s.cfg)
	if err != nil {
		return Lock{}, err
	}
	lock, err := zklock.NewMutex(session, s.cfg.Root+caseStudyLock, zklock.WithHandoff(1, 0)).Acquire(ctx)
	if err != nil {
		return Lock{}, errors.Join(err, session.Close())
	}
	own := heldMutex(lock)
	own.Release = func(ctx context.Context) error { return errors.Join(lock.Release(ctx), session.Close()) }
	return own, nil
}

// Ready implements Strategy.
func (s *caseStudy) Ready(ctx context.Context) error {
	session, err := connect(ctx, s.cfg)
	if err != nil {
		return fmt.Errorf("connect to zookeeper: %w", err)
	}
	return session.Close()
}

// Close implements Strategy.
func (*caseStudy) Close() error { return nil }
