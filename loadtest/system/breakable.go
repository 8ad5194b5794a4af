package system

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"orderstock/loadtest/faultpoint"
	"orderstock/pkg/httpapi"
)

// Ready returns nil if the service reports that all its dependencies answer.
func (s *Service) Ready(ctx context.Context) error {
	return httpapi.AskHealth(ctx, s.URL()+"/readyz")
}

// Arm replaces the service's rules.
func (s *Service) Arm(ctx context.Context, rules ...faultpoint.Rule) error {
	body, err := json.Marshal(rules)
	if err != nil {
		return fmt.Errorf("encode rules: %w", err)
	}
	_, err = s.control(ctx, http.MethodPut, body)
	return err
}

// Disarm removes the service's rules. One that is not breakable has none.
func (s *Service) Disarm(ctx context.Context) error {
	_, err := s.control(ctx, http.MethodDelete, nil)
	return err
}

// Reached returns how often each point, "step/when", was passed since the process began.
func (s *Service) Reached(ctx context.Context) (map[string]int, error) {
	points, err := s.control(ctx, http.MethodGet, nil)
	return points.Reached, err
}

// Armed returns the rules that may still strike.
func (s *Service) Armed(ctx context.Context) ([]faultpoint.Rule, error) {
	points, err := s.control(ctx, http.MethodGet, nil)
	return slices.DeleteFunc(points.Rules, func(r faultpoint.Rule) bool { return r.Fired >= max(1, r.Times) }), err
}

// Events returns the last steps that the service has passed, the oldest first. They outlive a kill by a fault
// point. One that is not breakable has none.
func (s *Service) Events(ctx context.Context) ([]faultpoint.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var events []faultpoint.Event
	if err := s.ask(ctx, http.MethodGet, "/events", nil, &events); err != nil {
		return nil, err
	}
	for i := range events {
		events[i].Process = s.Name()
	}
	return events, nil
}

// points is the state of a service's fault points.
type points struct {
	Reached map[string]int    `json:"reached"`
	Rules   []faultpoint.Rule `json:"rules"`
}

func (s *Service) control(ctx context.Context, method string, body []byte) (p points, err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	return p, s.ask(ctx, method, "/faults", body, &p)
}

// ask reads an answer of the service's control. A service that is not breakable has none: that is no error, except to
// arm it or to read its points.
func (s *Service) ask(ctx context.Context, method, path string, body []byte, answer any) error {
	req, err := http.NewRequestWithContext(ctx, method, s.URL()+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("control %s: %w", s.Name(), err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("control %s: %w", s.Name(), err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusNotFound && (method == http.MethodDelete || path == "/events") {
		return nil
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("control %s: %s", s.Name(), resp.Status)
	}
	if err := json.NewDecoder(resp.Body).Decode(answer); err != nil {
		return fmt.Errorf("control %s: %w", s.Name(), err)
	}
	return nil
}

// PostOrder sends an order with that body to an order service, under the key if it is not "". It returns the answer's
// HTTP status.
func (s *Service) PostOrder(ctx context.Context, key, body string) (code int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+"/v1/orders", strings.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("post order: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, fmt.Errorf("post order: %w", err)
	}
	return resp.StatusCode, resp.Body.Close()
}

// Fired counts the strikes of the rule in all replicas since the lab was started. A process records each strike before
// the strike can kill it.
func (s *System) Fired(rule faultpoint.Rule) (int, error) {
	log, err := os.ReadFile(s.firedLog())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("read fault log: %w", err)
	}
	return bytes.Count(log, fmt.Appendf(nil, "%s %s %s\n", rule.Step, rule.When, rule.Action)), nil
}
