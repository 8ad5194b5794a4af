package stockapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"orderstock/pkg/batch"
	"orderstock/pkg/request"
)

// WithSharedRequests lets concurrent calls of Deduct share requests, of which up to n are on their
// way at a time: a call goes at once while fewer are, and those that come meanwhile go together as
// soon as one has ended. Each has an answer of its own as soon as it is there, and keeps its
// deadline. Default: a request for each.
//
// All calls then go to one base URL, the first, until it does not serve, and then to the next:
// deductions that meet in one replica are carried out together, and the lock can stay there. With
// WithSpread they go to all in turn.
func WithSharedRequests(n int) Option {
	return func(c *Client) {
		c.shared = batch.New(c.sendShared, batch.WithMaxSize(MaxDeductions), batch.WithConcurrency(n), batch.WithGather(8))
	}
}

// WithSpread lets all calls go to the base URLs in turn.
func WithSpread() Option { return func(c *Client) { c.spread = true } }

type sharedCall = batch.Call[Deduction, Operation]

// deductShared is Deduct by a request that others may share.
func (c *Client) deductShared(ctx context.Context, flag string, items []Item) (Operation, error) {
	op, err := c.shared.Do(ctx, Deduction{Flag: flag, Items: items, RequestID: request.ID(ctx)})
	return op, batch.Errors{Full: ErrOverloaded, Undone: ErrUnavailable, Unknown: ErrUnknownOutcome}.Of(ctx, err)
}

// sendShared sends one request for all who wait, and hands the answers on as they come.
func (c *Client) sendShared(ctx context.Context, take func() []*sharedCall) {
	calls := take()
	if len(calls) == 0 {
		return
	}
	ctx, cancel := untilLast(ctx, calls)
	defer cancel()
	home := c.first()
	if err := c.exchange(ctx, home, calls); err != nil {
		c.leave(home, err)
		for _, call := range calls { // those who have their answer keep it
			call.Resolve(Operation{}, err)
		}
	}
}

func (c *Client) exchange(ctx context.Context, home uint64, calls []*sharedCall) error {
	body := DeductAllRequest{Operations: make([]Deduction, len(calls))}
	for i, call := range calls {
		body.Operations[i] = call.In
		body.Operations[i].TimeoutMS = timeLeft(call.Context())
	}
	resp, err := c.open(ctx, home, http.MethodPost, "/v1/operations", body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer))
	for range calls {
		var answer DeductAnswer
		if err := lines.Decode(&answer); err != nil {
			return fmt.Errorf("%w: read answer: %w", ErrUnknownOutcome, err)
		}
		switch {
		case answer.Index < 0 || answer.Index >= len(calls):
			return fmt.Errorf("%w: answer to deduction %d of %d", ErrUnknownOutcome, answer.Index, len(calls))
		case answer.Operation != nil:
			calls[answer.Index].Resolve(*answer.Operation, nil)
		case answer.Problem != nil:
			refused := errorOf(*answer.Problem, answer.Problem.Status, answer.RetryAfter)
			c.leave(home, refused)
			calls[answer.Index].Resolve(Operation{}, refused)
		default:
			return fmt.Errorf("%w: empty answer", ErrUnknownOutcome)
		}
	}
	_, err = io.Copy(io.Discard, resp.Body) // its end lets the connection be used again
	if err != nil {
		return fmt.Errorf("%w: read answer: %w", ErrUnknownOutcome, err)
	}
	return nil
}

// untilLast returns a context that ends when none of the calls waits any more by its deadline.
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
