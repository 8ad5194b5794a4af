package catalogue

import (
	"context"
	"fmt"
	"time"

	"orderstock/loadtest/history"
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
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	body := fmt.Sprintf(`{"items":[{"goods_id":"%d","num":-5}]}`, r.History.Goods[0].ID)
	r.Declare("minus-five")
	return r.System.Orders[0].PostOrder(ctx, "minus-five", body)
})
