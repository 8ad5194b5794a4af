package catalogue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"orderstock/loadtest/trial"
)

// acts returns what breaks during a run.
func (p *Player) acts(plan Plan, m *Meter) (acts []trial.Timed) {
	for _, t := range plan.Timed(p.lab, plan.Load.Mix.Seed) {
		armed := p.Acts.Add(t.Action, t.Act)
		if t.Act, t.Optional = armed, true; plan.Fault == nil {
			t.Act = lasting{armed}
		}
		acts = append(acts, t)
	}
	if plan.Fault != nil && plan.Fault.MinusFive {
		order := func(ctx context.Context) error { return p.orderMinusFive(ctx, m) }
		acts = append(acts, trial.Timed{Act: &trial.Simple{Do: order}, Optional: true})
	}
	return acts
}

// lasting is an act of a whole run. The set heals it in the end, together with the acts by hand.
type lasting struct{ *trial.Armed }

// Hold implements trial.Act.
func (lasting) Hold() time.Duration { return trial.UntilOver }

// Heal implements trial.Act.
func (lasting) Heal(context.Context) error { return nil }

// sayStrike notes an act that failed, did not begin or did not strike.
func (p *Player) sayStrike(a trial.Act, s trial.Strike) {
	name := "an order for minus five pieces"
	if named, ok := a.(interface{ Words() string }); ok {
		name = named.Words()
	}
	switch {
	case errors.Is(s.Err, trial.ErrOver):
		p.Say("fault", "not brought about, as the run was over before: %s", name)
	case s.Err != nil:
		p.Say("error", "%s: %v", name, s.Err)
	case s.Fired == 0:
		p.Say("fault", "never struck: %s", name)
	}
}

// minusFiveKey is the key of the order for minus five pieces.
const minusFiveKey = "minus-five"

// orderMinusFive orders minus five pieces of the run's first product.
func (p *Player) orderMinusFive(ctx context.Context, m *Meter) error {
	goods, _ := m.Sold()
	body := fmt.Appendf(nil, `{"items":[{"goods_id":"%d","num":-5}]}`, goods[0])
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.at.Target().OrderURLs[0]+"/v1/orders",
		bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("place order: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", minusFiveKey)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("place order: %w", err)
	}
	p.Say("run", "an order for minus five pieces of product %d is answered %d", goods[0], resp.StatusCode)
	return resp.Body.Close()
}
