package stockapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"orderstock/pkg/batch"
	"orderstock/pkg/observe"
	"orderstock/pkg/operation"
)

type sharedCall = batch.Call[Deduction, operation.Operation]

// deductShared is Deduct in a request to the replica that other calls may share.
func deductShared(
	ctx context.Context, r *replica, flag string, items []operation.Item,
) (operation.Operation, error) {
	op, err := r.shared.Do(ctx, Deduction{
		Flag: flag, Items: items, RequestID: observe.RequestID(ctx), Traceparent: observe.Parent(ctx),
	})
	if errors.Is(err, batch.ErrClosed) { // the replica has just left
		return op, fmt.Errorf("%w: %w: %w", operation.ErrUnavailable, errUnreached, err)
	}
	meanings := batch.Errors{
		Full: operation.ErrOverloaded, Undone: operation.ErrUnavailable, Unknown: operation.ErrUnknownOutcome,
	}
	return op, meanings.Of(ctx, err)
}

// sendShared sends one request for all calls that wait, and answers each as its line arrives.
func (c *Client) sendShared(ctx context.Context, r *replica, take func() []*sharedCall) {
	calls := take()
	if len(calls) == 0 {
		return
	}
	ctx, cancel := untilLast(ctx, calls)
	defer cancel()
	r.sent()
	defer r.ended()
	ctx, step := observe.Together(ctx, "shared request", time.Now(), batch.Contexts(calls))
	err := c.exchange(ctx, r, calls)
	step.End(err)
	if err != nil {
		for _, call := range calls { // answered calls keep their answers
			call.Resolve(operation.Operation{}, err)
		}
	}
}

func (c *Client) exchange(ctx context.Context, r *replica, calls []*sharedCall) error {
	body := DeductAllRequest{Operations: make([]Deduction, len(calls))}
	for i, call := range calls {
		body.Operations[i] = call.In
		body.Operations[i].TimeoutMS = timeLeft(call.Context())
	}
	resp, err := c.open(ctx, r, http.MethodPost, "/v1/operations", body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer))
	for range calls {
		var answer DeductAnswer
		if err := lines.Decode(&answer); err != nil {
			return fmt.Errorf("%w: read answer: %w", operation.ErrUnknownOutcome, err)
		}
		r.answered()
		switch {
		case answer.Index < 0 || answer.Index >= len(calls):
			return fmt.Errorf("%w: answer to deduction %d of %d", operation.ErrUnknownOutcome, answer.Index, len(calls))
		case answer.Operation != nil && !wholeOperation(answer.Operation):
			return errNotWhole
		case answer.Operation != nil:
			calls[answer.Index].Resolve(*answer.Operation, nil)
		case answer.Problem != nil:
			err := errorOf(*answer.Problem, answer.Problem.Status, answer.RetryAfter)
			calls[answer.Index].Resolve(operation.Operation{}, err)
		default:
			return fmt.Errorf("%w: empty answer", operation.ErrUnknownOutcome)
		}
	}
	_, err = io.Copy(io.Discard, resp.Body) // a body that was read to its end frees the connection
	if err != nil {
		return fmt.Errorf("%w: read answer: %w", operation.ErrUnknownOutcome, err)
	}
	return nil
}

// untilLast returns a context that ends with the latest deadline of the calls.
func untilLast(ctx context.Context, calls []*sharedCall) (context.Context, context.CancelFunc) {
	var last time.Time
	for _, call := range calls {
		deadline, ok := call.Context().Deadline()
		if !ok {
			return ctx, func() {}
		}
		if deadline.After(last) {
			last = deadline
		}
	}
	return context.WithDeadline(ctx, last)
}
