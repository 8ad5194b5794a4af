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
	at := r.System.Orders[0]
	p := history.Placed{Process: at.Name(), Key: "minus-five", Goods: r.History.Goods[0].ID, Num: -5}
	body := fmt.Sprintf(`{"items":[{"goods_id":"%d","num":%d}]}`, p.Goods, p.Num)
	r.Declare(p.Key)
	p.Sent = time.Since(r.History.Started)
	code, err := placeServed(ctx, at, p.Key, body)
	p.Done, p.Code = time.Since(r.History.Started), code
	r.Placed = append(r.Placed, p)
	return err
})

// placeServed places an order under the key, and repeats it while the service answers 503: without a stock service it
// knows no price, and nothing has happened. It returns the status of the last answer.
func placeServed(ctx context.Context, s *system.Service, key, body string) (code int, err error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		code, err := s.PostOrder(ctx, key, body)
		if err != nil || code != http.StatusServiceUnavailable {
			return code, err
		}
		if err := trial.Sleep(ctx, 50*time.Millisecond); err != nil {
			return code, fmt.Errorf("place order %s: answered %d: %w", key, code, err)
		}
	}
}
