//go:build browser

package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"orderstock/loadtest/console"
	"orderstock/loadtest/system"
	"orderstock/loadtest/tables"
	"orderstock/loadtest/trial"
	"orderstock/loadtest/verify"
)

// stage is a console with its own lab, served on a port of 127.0.0.1.
type stage struct {
	console *console.Console
	lab     *system.System
	server  *console.Server
	url     string
	out     string
}

var shared struct {
	once  sync.Once
	stage *stage
	err   error
	end   func()
}

// theStage returns the one stage of this package's tests. They run one after the other.
func theStage(t *testing.T) *stage {
	t.Helper()
	shared.once.Do(func() { shared.stage, shared.end, shared.err = openStage() })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.stage
}

func openStage() (_ *stage, end func(), err error) {
	ctx, cancel := context.WithCancel(context.Background()) // outlives the test that asks first
	l, err := system.Open(ctx, system.Config{Bin: filepath.Join("bin", "faults"), Breakable: true})
	if err != nil {
		cancel()
		return nil, nil, err
	}
	s := &stage{lab: l, out: filepath.Join(l.Dir, "out")}
	if s.console, err = console.Lab(l, s.out); err != nil {
		cancel()
		return nil, nil, errors.Join(err, l.Close())
	}
	s.server = console.NewServer(s.console, console.ServerConfig{})
	web := httptest.NewServer(s.server.Handler())
	s.url = web.URL
	s.server.ReceiveTraces(s.url)
	ran := make(chan error, 1)
	go func() { ran <- s.console.Run(ctx) }()
	return s, func() {
		cancel()
		web.CloseClientConnections()
		web.Close()
		if err := errors.Join(<-ran, l.Close()); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}, nil
}

func TestMain(m *testing.M) {
	code := m.Run()
	endChromium()
	if shared.end != nil {
		shared.end()
	}
	os.Exit(code)
}

// entry is the address that opens the page.
func (s *stage) entry() string { return s.url + "/?token=" + s.server.Token() }

// play plays a fault and returns the verdict.
func (s *stage) play(t *testing.T, fault string, v tables.Side) *verify.Verdict {
	t.Helper()
	if _, err := s.console.Play(fault, v, 0); err != nil {
		t.Fatal(err)
	}
	verdict, err := s.verdict(t)
	if err != nil {
		t.Fatal(err)
	}
	return verdict
}

// fire fires a scenario and returns the run.
func (s *stage) fire(t *testing.T, scene tables.Custom) tables.Run {
	t.Helper()
	run, err := s.console.Fire(scene)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// passes waits for the verdict, which must be a pass.
func (s *stage) passes(t *testing.T) {
	t.Helper()
	if v, err := s.verdict(t); err != nil || v.Outcome != verify.Pass {
		t.Fatalf("%v, %v", v, err)
	}
}

// verdict waits until the run that goes on is over, and returns the verdict on it, or why there is none.
func (s *stage) verdict(t *testing.T) (*verify.Verdict, error) {
	t.Helper()
	now := s.until(t, func(now shown) bool { return now.Phase == string(trial.Idle) })
	if now.Verdict == nil {
		return nil, errors.New(now.Hero.Sentence)
	}
	return now.Verdict, nil
}

// shown is a part of the state.
type shown struct {
	Phase   string           `json:"phase"`
	Run     tables.Run       `json:"run"`
	Faults  []trial.Shown    `json:"faults"`
	Verdict *verify.Verdict  `json:"verdict"`
	Hero    tables.Headline  `json:"hero"`
	Samples []tables.Sample  `json:"samples"`
	Edges   map[string]int64 `json:"edges"`
	Lock    console.Lock     `json:"lock"`
	Recent  []console.Recent `json:"recent"`
}

func (s *stage) state(t *testing.T) shown {
	t.Helper()
	return stateOf(t, s.url, s.server)
}

// stateOf returns the state that a server at an address answers.
func stateOf(t *testing.T, url string, server *console.Server) (state shown) {
	t.Helper()
	resp := send(t, server, http.MethodGet, url+"/api/state", nil)
	defer func() { _ = resp.Body.Close() }() // now: this is a poll
	if err := json.NewDecoder(resp.Body).Decode(&state); err != nil {
		t.Fatal(err)
	}
	return state
}

// send returns a server's answer to a request with its token. The body, if any, holds spans.
func send(t *testing.T, server *console.Server, method, address string, body []byte) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+server.Token())
	req.Header.Set("Content-Type", "application/x-protobuf")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}
