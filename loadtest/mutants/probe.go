package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/lab"
	"orderstock/pkg/stockapi"
)

// flagConflict is the property that changedBody checks: other items under a used flag are refused.
const flagConflict = "flag-conflict-refused"

// probe sends calls that the load tester never sends, after a run of traffic over the products, and returns the names
// of the invariants that it found broken.
type probe func(ctx context.Context, l *lab.Lab, goods []history.Goods) (broken []string, err error)

// negativeQuantity orders minus five pieces.
func negativeQuantity(ctx context.Context, l *lab.Lab, goods []history.Goods) ([]string, error) {
	_, err := send(ctx, l, http.MethodPost, l.Orders[0].URL()+"/v1/orders", deduction(goods[0], -5))
	return nil, err
}

// changedBody deducts one piece, and then asks for two under the same flag.
func changedBody(ctx context.Context, l *lab.Lab, goods []history.Goods) ([]string, error) {
	url := l.Stocks[0].URL() + "/v1/operations/" + history.DirectPrefix + strconv.FormatInt(time.Now().UnixNano(), 36)
	for i, num := range []int64{1, 2} {
		code, err := send(ctx, l, http.MethodPut, url, deduction(goods[0], num))
		switch {
		case err != nil:
			return nil, err
		case i == 0 && code != http.StatusOK:
			return nil, fmt.Errorf("the first deduction is answered %d", code)
		case i == 1 && code != http.StatusConflict:
			return []string{flagConflict}, nil
		}
	}
	return nil, nil
}

var (
	// traffic fires orders with repeats and cancellations over new products, and judges them.
	traffic = firing(fire.Config{Orders: 200, Concurrency: 20, Mix: repeated})
	// deductions is traffic with deductions alone.
	deductions = firing(fire.Config{Path: history.PathDeduct, Orders: 200, Concurrency: 20, Mix: repeated})
	// baskets fires orders of several products at replicas that take turns, and judges them. unlockedDeductions is
	// broken as well if a deduction went without the locks of its products.
	baskets = firing(fire.Config{
		Orders: 600, Concurrency: 60, Mix: fire.Mix{Goods: 6, Stock: 2000, ItemsMax: 3, Several: 1, Cancel: 0.1, Seed: 1},
	})
)

var repeated = fire.Mix{Goods: 3, Stock: 120, Repeat: 0.3, Cancel: 0.3, Seed: 1}

// unlockedDeductions is what baskets looks for: in calm, no deduction goes without its locks.
const unlockedDeductions = "unlocked"

// firing returns a probe that fires a load and judges it.
func firing(load fire.Config) probe {
	return func(ctx context.Context, l *lab.Lab, _ []history.Goods) ([]string, error) {
		h, err := fired(ctx, l, load)
		if err != nil {
			return nil, err
		}
		v, err := verdict(ctx, l, h)
		if err != nil {
			return nil, err
		}
		broken := v.Violated()
		if load.Mix.Several > 0 && v.Unlocked > 0 {
			broken = append(broken, unlockedDeductions)
		}
		return broken, nil
	}
}

func deduction(g history.Goods, num int64) stockapi.DeductRequest {
	return stockapi.DeductRequest{Items: []stockapi.Item{{GoodsID: strconv.FormatInt(g.ID, 10), Num: num}}}
}

func send(ctx context.Context, l *lab.Lab, method, url string, body any) (code int, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	data, err := json.Marshal(body)
	if err != nil {
		return 0, fmt.Errorf("encode probe: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(data))
	if err != nil {
		return 0, fmt.Errorf("send probe: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+l.Target().StockToken)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, fmt.Errorf("send probe: %w", err)
	}
	return resp.StatusCode, resp.Body.Close()
}
