package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"orderstock/loadtest/system"
	"orderstock/loadtest/system/systemtest"
	"orderstock/pkg/command"
	"orderstock/pkg/servers/serverstest"
)

// An attached console finds the services' servers by the variables that the services read, and an order's flag in
// Redis. When it ends, it takes back the file that says where it was.
func TestConsoleWatchesTheStackThatTheEnvironmentNames(t *testing.T) {
	st := systemtest.Up(t, systemtest.Build(t), func(*system.Config) {})
	for _, env := range []map[string]string{st.LoadtestEnv(), st.ServersEnv()} {
		for name, value := range env {
			t.Setenv(name, value)
		}
	}
	folder := t.TempDir()
	args := []string{"console", "--attach", "--traces", "127.0.0.1:0", "--out", folder}
	for _, s := range st.Replicas() {
		args = append(args, "--watch", string(s.Kind)+"="+s.URL()+"=http://"+s.OpsAddr)
	}
	at, end := served(t, args)

	if _, exit := execute(t, "fire", "--orders", "5", "--goods", "2", "--out", folder); exit != command.Passed {
		t.Fatalf("exit code %d", exit)
	}
	order := firedOrder(t, folder)
	var life struct {
		Flag string `json:"flag_in_redis"`
	}
	ask(t, at, "api/orders/"+order, &life)
	if life.Flag != "gone" {
		t.Errorf("the flag of an order that ended is %q, want gone", life.Flag)
	}
	type member struct{ Name, State, Says string }
	var state struct{ Servers, Replicas []member }
	serverstest.Eventually(t, "the console shows three servers and all services ready", func() bool {
		ask(t, at, "api/state", &state)
		ready := 0
		for _, m := range append(state.Servers, state.Replicas...) {
			if m.State == "ready" {
				ready++
			}
		}
		return len(state.Servers) == 3 && ready == 3+len(st.Replicas())
	})

	file := filepath.Join(folder, addressFile)
	if kept, err := os.ReadFile(file); err != nil || strings.TrimSpace(string(kept)) != at.String() {
		t.Errorf("%s holds %q, %v; want %s", file, kept, err, at)
	}
	end()
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", file, err)
	}
}

// served runs the program, which serves a console, and returns the console's address. end stops it.
func served(t *testing.T, args []string) (at *url.URL, end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, into := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cmd := newCommand(into, into)
		cmd.SetArgs(args)
		_ = command.Run(ctx, cmd) // it is interrupted
		_ = into.Close()
	}()
	end = func() {
		cancel()
		<-ended
	}
	t.Cleanup(end)
	said := bufio.NewScanner(out)
	for said.Scan() {
		if address, ok := strings.CutPrefix(said.Text(), "CONSOLE: "); ok {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			at, err := url.Parse(address)
			if err != nil {
				t.Fatal(err)
			}
			return at, end
		}
		t.Log(said.Text())
	}
	t.Fatal("the console ended before it said where it is")
	return nil, end
}

// ask reads the console's answer.
func ask(t *testing.T, console *url.URL, path string, into any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, console.Scheme+"://"+console.Host+"/"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+console.Query().Get("token"))
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", path, resp.Status, err)
	}
}
