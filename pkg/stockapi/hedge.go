package stockapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"orderstock/pkg/operation"
)

// errNoAnswer is the failure of a replica that does not answer.
var errNoAnswer = errors.New("no answer")

// sender sends a call to one replica, and returns the answer.
type sender[T any] func(ctx context.Context, r *replica) (T, error)

// to sends the call to the replica, and records the result in its breaker and in the replica.
func (send sender[T]) to(ctx context.Context, r *replica, done func(error)) (value T, err error) {
	err = errNoAnswer // of a send that panics
	r.sent()
	defer func() {
		r.ended()
		done(err)
		if unanswered(err) {
			r.eject()
		}
	}()
	return send(ctx, r)
}

// tries is a call in flight to one or more replicas.
type tries[T any] struct {
	order   []*replica // not tried yet
	breaker func(*replica) breaker
	send    sender[T]
	results chan result[T]
	// last is the replica tried last, and give reports the result of that try to its breaker.
	last *replica
	give func(error)
}

type result[T any] struct {
	value T
	err   error
}

// at calls send with the first available replica of the order, and then with the next one while none was reached. If a
// replica is overdue and another is not, the call is hedged: it goes to that one as well, and the first success
// counts. So a call may run twice, under one flag. If all tries fail, the error says whether any of them may have taken
// effect.
func at[T any](ctx context.Context, order []*replica, breaker func(*replica) breaker, send sender[T]) (T, error) {
	var none T
	switch len(order) {
	case 0:
		return none, fmt.Errorf("%w: no stock service is known", operation.ErrUnavailable)
	case 1: // no other to turn to
		done, err := breaker(order[0]).Allow()
		if err != nil {
			return none, breakerOpen(err)
		}
		return send.to(ctx, order[0], done)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t := &tries[T]{order: promptFirst(order), breaker: breaker, send: send, results: make(chan result[T], len(order))}
	under, refused := t.next(ctx)
	if !under {
		return none, refused
	}
	var failed error
	going := 1
	look := time.NewTimer(t.last.hedgeIn())
	defer look.Stop()
	turn := func() {
		if more, _ := t.next(ctx); more {
			going++
			look.Reset(t.last.hedgeIn())
		}
	}
	for {
		select {
		case r := <-t.results:
			if going--; r.err == nil || !errors.Is(r.err, errUnreached) && going == 0 && failed == nil {
				return r.value, r.err
			}
			if failed == nil || !errors.Is(failed, operation.ErrUnknownOutcome) && !errors.Is(r.err, errUnreached) {
				failed = r.err
			}
			if errors.Is(r.err, errUnreached) {
				turn()
			}
			if going == 0 {
				return none, failed
			}
		case <-look.C:
			switch left := t.last.hedgeIn(); {
			case left > 0:
				look.Reset(left)
			case len(t.order) == 0: // no other to turn to
			case t.order[0].overdue():
				look.Reset(t.last.hedge / 4)
			default:
				t.give(errNoAnswer)
				t.last.eject()
				failed = fmt.Errorf("%w: %w", operation.ErrUnknownOutcome, errNoAnswer)
				turn()
			}
		}
	}
}

// unanswered reports whether a request was sent and not answered, unless its caller gave up.
func unanswered(err error) bool {
	return errors.Is(err, operation.ErrUnknownOutcome) && !errors.Is(err, context.Canceled) && !answered(err)
}

// next begins the try at the next replica whose breaker allows it. If there is none, it returns the reason.
func (t *tries[T]) next(ctx context.Context) (begun bool, refused error) {
	for len(t.order) > 0 {
		r := t.order[0]
		t.order = t.order[1:]
		done, err := t.breaker(r).Allow()
		if err != nil {
			refused = breakerOpen(err)
			continue
		}
		var once sync.Once
		give := func(err error) { once.Do(func() { done(err) }) }
		t.last, t.give = r, give
		go func() {
			value, err := t.send.to(ctx, r, give)
			t.results <- result[T]{value, err}
		}()
		return true, nil
	}
	return false, refused
}

// promptFirst returns the order with the overdue replicas last.
func promptFirst(order []*replica) []*replica {
	if !slices.ContainsFunc(order, (*replica).overdue) {
		return order
	}
	prompt := slices.DeleteFunc(slices.Clone(order), (*replica).overdue)
	for _, r := range order {
		if !slices.Contains(prompt, r) {
			prompt = append(prompt, r)
		}
	}
	return prompt
}
