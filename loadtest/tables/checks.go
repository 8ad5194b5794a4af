package tables

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"orderstock/loadtest/history"
	"orderstock/loadtest/system"
	"orderstock/loadtest/trial"
)

// firstAnswerEnds checks that the first answer to each order confirms or rejects it.
var firstAnswerEnds = trial.When(trial.Judged, "first-answer-is-an-end", func(_ context.Context, r *trial.Run) error {
	n, first := 0, ""
	for _, c := range r.History.Calls {
		if c.Kind != history.Place || c.Status == history.Confirmed || c.Status == history.Rejected ||
			c.Status == history.Done {
			continue
		}
		if n++; n == 1 {
			first = fmt.Sprintf("order %d was answered %d %s", c.Op, c.Code, c.Status)
		}
	}
	if n > 0 {
		r.Violate("first-answer-is-an-end", n, "%s", first)
	}
	return nil
}).Saying("every order is confirmed or rejected by its first answer")

// minusFive is no check: it orders minus five pieces of the run's first product.
var minusFive = trial.When(trial.Sent, "minus-five", func(ctx context.Context, r *trial.Run) error {
	body := fmt.Sprintf(`{"items":[{"goods_id":"%d","num":-5}]}`, r.History.Goods[0].ID)
	r.Declare("minus-five")
	return placeServed(ctx, r.System.Orders[0], "minus-five", body)
})

// placeServed places an order under the key, and repeats it while the service answers 503: without a stock service it
// knows no price, and nothing has happened.
func placeServed(ctx context.Context, s *system.Service, key, body string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		code, err := s.PostOrder(ctx, key, body)
		if err != nil || code != http.StatusServiceUnavailable {
			return err
		}
		if err := trial.Sleep(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("place order %s: answered %d: %w", key, code, err)
		}
	}
}
