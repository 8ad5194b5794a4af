package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"orderstock/pkg/faultpoint"
	"orderstock/pkg/httpapi"
	"orderstock/pkg/servers"
)

// Rule arms one point of a replica; see faultpoint's build with the tag "faults".
type Rule struct {
	Step    faultpoint.Step `json:"step"`
	When    faultpoint.When `json:"when"`
	Action  string          `json:"action"` // kill, stop, error, delay or call
	Skip    int             `json:"skip"`
	Times   int             `json:"times"`
	DelayMS int64           `json:"delay_ms"`
	URL     string          `json:"url,omitempty"`
}

// Replica is one process of one of the two services.
type Replica struct {
	*servers.Server
	// Name is "order-0", "stock-1" and so on.
	Name string
	// URL is the service's base address.
	URL string
	// Wires lead to what the replica uses. An order service has one to each
	// stock service.
	Wires map[string][]*Wire

	ops      string
	firedLog string
}

// service describes a replica that is to be started.
type service struct {
	name, bin, dir string
	wires          map[string][]*Wire
	env            []string
}

func startReplica(ctx context.Context, s service) (*Replica, error) {
	ports := [2]int{}
	for i := range ports {
		port, err := servers.FreePort()
		if err != nil {
			return nil, fmt.Errorf("start %s: %w", s.name, err)
		}
		ports[i] = port
	}
	addr, ops := fmt.Sprintf("127.0.0.1:%d", ports[0]), fmt.Sprintf("127.0.0.1:%d", ports[1])
	r := &Replica{
		Name: s.name, URL: "http://" + addr, Wires: s.wires, ops: "http://" + ops,
		firedLog: filepath.Join(s.dir, s.name+".fired"),
	}
	var err error
	r.Server, err = servers.Start(ctx, servers.Spec{
		Name: s.name, Path: s.bin, Args: []string{"serve"}, Dir: s.dir, Addr: addr,
		Env:   append(s.env, "LISTEN_ADDR="+addr, "OPS_ADDR="+ops, "FAULTPOINT_LOG="+r.firedLog),
		Ready: func(ctx context.Context) error { return httpapi.Healthcheck(ctx, r.URL+"/readyz") },
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Ready returns nil if the replica says that all it needs answers.
func (r *Replica) Ready(ctx context.Context) error {
	return httpapi.Healthcheck(ctx, r.URL+"/readyz")
}

// Arm sets the replica's rules in place of those before.
func (r *Replica) Arm(ctx context.Context, rules ...Rule) error {
	body, err := json.Marshal(rules)
	if err != nil {
		return fmt.Errorf("encode rules: %w", err)
	}
	_, err = r.control(ctx, http.MethodPut, body)
	return err
}

// Disarm removes the replica's rules.
func (r *Replica) Disarm(ctx context.Context) error {
	_, err := r.control(ctx, http.MethodDelete, nil)
	return err
}

// Reached returns how often each point, "step/when", was passed since the process began.
func (r *Replica) Reached(ctx context.Context) (map[string]int, error) {
	return r.control(ctx, http.MethodGet, nil)
}

func (r *Replica) control(ctx context.Context, method string, body []byte) (map[string]int, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, r.ops+"/faults", bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("control %s: %w", r.Name, err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("control %s: %w", r.Name, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("control %s: %s", r.Name, resp.Status)
	}
	var told struct {
		Reached map[string]int `json:"reached"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&told); err != nil {
		return nil, fmt.Errorf("control %s: %w", r.Name, err)
	}
	return told.Reached, nil
}

// Fired counts how often the rule struck this replica since it was first
// started, over all its deaths.
func (r *Replica) Fired(rule Rule) (int, error) {
	log, err := os.ReadFile(r.firedLog)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("read fault log of %s: %w", r.Name, err)
	}
	return bytes.Count(log, fmt.Appendf(nil, "%s %s %s\n", rule.Step, rule.When, rule.Action)), nil
}

// EachWire calls do for the wires to what is named.
func (r *Replica) EachWire(to string, do func(*Wire) error) error {
	var errs []error
	for _, w := range r.Wires[to] {
		errs = append(errs, do(w))
	}
	return errors.Join(errs...)
}
