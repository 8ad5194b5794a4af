package order

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"orderstock/pkg/observe"
	"orderstock/pkg/operation"
)

const (
	// maxFailures is the number of consecutive rounds that may fail before Run gives up.
	maxFailures = 3
	// driveLimit bounds the work on one order in one round.
	driveLimit = 5 * time.Second
	// drivenAtOnce bounds the orders that are driven concurrently.
	drivenAtOnce = 16
)

// Reconciler settles the orders that their placing processes left unsettled. Several may work concurrently without
// harm, because each of their steps is guarded; run one at a time to spare the stock service.
type Reconciler struct {
	service *Service
	log     *slog.Logger
	// after is the id after which the next round's scan of a status begins. It wraps around, so that orders that cannot be
	// settled now do not hide the others.
	after map[Status]int64
	// audited is the id after which the next audit begins.
	audited int64
}

// NewReconciler returns a reconciler of the service's orders.
func NewReconciler(s *Service, log *slog.Logger) *Reconciler {
	return &Reconciler{service: s, log: log, after: map[Status]int64{}}
}

// Run runs rounds until ctx ends, and returns nil then. The pause between rounds is jittered, grows while rounds fail,
// and is skipped while there is a backlog. After too many consecutive failures Run returns the last one's error, so
// that another replica can reconcile.
func (r *Reconciler) Run(ctx context.Context) error {
	cfg := r.service.cfg
	pause, failures := cfg.ReconcileInterval, 0
	var audited time.Time
	for ctx.Err() == nil {
		round := observe.WithRequest(ctx, r.log, "")
		more, err := r.Round(round)
		switch {
		case err != nil && ctx.Err() == nil:
			if failures++; failures == maxFailures {
				return fmt.Errorf("reconcile: %d rounds failed: %w", failures, err)
			}
			pause = min(2*pause, cfg.ReconcileMaxPause)
			observe.Logger(round).Warn("reconciler's round failed", "error", err.Error(), "pause_ms", pause.Milliseconds())
		case more:
			pause, failures = 0, 0
		default:
			pause, failures = cfg.ReconcileInterval, 0
		}
		if err == nil && !more && time.Since(audited) > auditEvery {
			audited = time.Now()
			if err := r.Audit(round); err != nil && ctx.Err() == nil {
				observe.Logger(round).Warn("books not checked", "error", err.Error())
			}
		}
		wait := time.NewTimer(pause/2 + rand.N(pause+1))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
		}
		pause = max(pause, cfg.ReconcileInterval)
	}
	return nil
}

// Round takes the oldest unsettled orders that follow the last round's, at most a batch of each status, and drives each
// one step or to its outcome. It reports whether there were more, and returns the error that stopped it: the
// database's, operation.ErrUnavailable, or operation.ErrUnknownOutcome if the stock service answered for none of
// them. Whatever stops it, the next round goes on with the orders that follow.
func (r *Reconciler) Round(ctx context.Context) (more bool, err error) {
	now, err := r.service.store.Now(ctx)
	if err != nil {
		return false, err
	}
	cfg := r.service.cfg
	limit := now.Add(-cfg.PendingLimit)
	var stopped []error
	for _, status := range []Status{Cancelling, Pending} {
		found, err := r.service.store.Stuck(ctx, status, r.after[status], limit, cfg.ReconcileBatch)
		if err != nil {
			return false, err
		}
		begun, err := r.driveAll(ctx, found, now)
		stopped = append(stopped, err)
		r.after[status] = 0
		if begun < len(found) || begun == cfg.ReconcileBatch {
			r.after[status] = found[max(begun, 1)-1].ID
			more = true
		}
	}
	err = errors.Join(stopped...)
	return more && err == nil, err
}

// driveAll drives the orders, which were read at now, several at a time, and returns how many it began. Once the stock
// service is down it begins no more, but lets running ones finish: a circuit breaker may be probing the service with
// their calls. It returns operation.ErrUnavailable if any order met it, and operation.ErrUnknownOutcome if any order
// met it and none was settled. Any other failure, such as a held row, concerns its order alone and is only logged.
func (r *Reconciler) driveAll(ctx context.Context, orders []Order, now time.Time) (begun int, err error) {
	var (
		all     errgroup.Group
		down    atomic.Bool
		settled atomic.Bool
		failed  = make([]error, len(orders))
	)
	all.SetLimit(drivenAtOnce)
	for i, o := range orders {
		if ctx.Err() != nil || down.Load() {
			break
		}
		begun++
		all.Go(func() error {
			ctx, step := observe.Resume(ctx, o.Trace, "reconcile")
			end, err := r.service.drive(ctx, o, now.Sub(o.UpdatedAt))
			step.End(err, "order_id", o.Flag(), "from", string(o.Status), "to", string(end.Status))
			if err == nil {
				settled.Store(true)
				observe.Logger(ctx).Info("order reconciled", "order_id", o.ID, "from", string(o.Status), "to", string(end.Status))
				return nil
			}
			observe.Logger(ctx).Warn("order not reconciled", "order_id", o.ID, "error", err.Error())
			failed[i] = err
			if operation.CodeOf(err) == operation.ErrUnavailable {
				down.Store(true)
				return err
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil || settled.Load() {
		return begun, err
	}
	for _, err := range failed {
		if operation.CodeOf(err) == operation.ErrUnknownOutcome {
			return begun, err
		}
	}
	return begun, nil
}

// drive takes an order that has been unsettled for age to its outcome. It completes a requested cancellation. Otherwise
// it reads the ledger. If the ledger has no record, it sends the deduction again under the same flag or, past the
// limit, cancels the flag and then the order. The error is the reason why there is no outcome yet.
func (s *Service) drive(ctx context.Context, o Order, age time.Duration) (Order, error) {
	ctx, stop := context.WithTimeout(ctx, driveLimit)
	defer stop()
	if o.Status == Cancelling {
		report, err := s.stock.Pass(ctx, o.Items)
		if err != nil {
			return o, err
		}
		op, err := s.cancelFlag(ctx, o)
		report(op, err)
		if err != nil {
			return o, err
		}
		return s.ended(s.settle(ctx, o, op))
	}
	op, err := s.recorded(ctx, o)
	if err == nil {
		return s.ended(s.settle(ctx, o, op))
	}
	if !errors.Is(err, errNoOutcome) {
		return o, err
	}
	if age > s.cfg.CancelAfter {
		return s.ended(s.cancel(ctx, o, ReasonExpired))
	}
	report, err := s.stock.Pass(ctx, o.Items)
	if err != nil {
		return o, err
	}
	if err = s.deduct(ctx, o, report); err != nil {
		code := operation.CodeOf(err)
		if code == operation.ErrFlagConflict || code == operation.ErrUnknownGoods {
			return s.ended(s.refuse(ctx, o, code))
		}
		return o, err
	}
	if op, err = s.recorded(ctx, o); err != nil {
		return o, err
	}
	return s.ended(s.settle(ctx, o, op))
}

// ended returns errNoOutcome for an order without an outcome.
func (s *Service) ended(o Order, err error) (Order, error) {
	if err == nil && !o.Status.IsOutcome() {
		err = errNoOutcome
	}
	return o, err
}
