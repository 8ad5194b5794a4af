package system

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"orderstock/loadtest/faults/faultpoint"
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
	return s.control(ctx, http.MethodGet, nil)
}

func (s *Service) control(ctx context.Context, method string, body []byte) (map[string]int, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, s.URL()+"/faults", bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("control %s: %w", s.Name(), err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("control %s: %w", s.Name(), err)
	}
	defer func() { _ = resp.Body.Close() }()
	if method == http.MethodDelete && resp.StatusCode == http.StatusNotFound {
		return map[string]int{}, nil
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("control %s: %s", s.Name(), resp.Status)
	}
	var told struct {
		Reached map[string]int `json:"reached"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&told); err != nil {
		return nil, fmt.Errorf("control %s: %w", s.Name(), err)
	}
	return told.Reached, nil
}

// PostOrder sends an order with that body to an order service, under the key if it is not "". The answer is discarded.
func (s *Service) PostOrder(ctx context.Context, key, body string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+"/v1/orders", strings.NewReader(body))
	if err != nil {
		return fmt.Errorf("post order: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("post order: %w", err)
	}
	return resp.Body.Close()
}

// EachWire calls do for each of the wires to the given server, such as ToMySQL.
func (s *Service) EachWire(to string, do func(*Wire) error) error {
	var errs []error
	for _, w := range s.Wires[to] {
		errs = append(errs, do(w))
	}
	return errors.Join(errs...)
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
