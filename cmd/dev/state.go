package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofrs/flock"

	"orderstock/loadtest/system"
	"orderstock/pkg/servers"
)

// state describes a running stack. Its holder writes it for the other commands.
type state struct {
	// Pid is the holder's. It counts only while the holder holds the lock.
	Pid      int               `json:"pid"`
	Programs []program         `json:"programs"`
	Env      map[string]string `json:"env"`
}

type program struct {
	Name string `json:"name"`
	Addr string `json:"addr"`
	// Pid is its process: another one may answer at the address.
	Pid int `json:"pid"`
	// URL is a service's address, and Ops the address of its /metrics; "" for a server.
	URL string `json:"url,omitempty"`
	Ops string `json:"ops,omitempty"`
	// Token opens the console's page; "" for the others.
	Token string `json:"token,omitempty"`
}

func stateOf(st *system.System) state {
	s := state{Pid: os.Getpid(), Env: st.LoadtestEnv()}
	add := func(p *servers.Server, url, ops string) {
		s.Programs = append(s.Programs, program{Name: p.Name(), Addr: p.Addr(), Pid: p.Pid(), URL: url, Ops: ops})
	}
	for _, p := range st.Replicas() {
		add(p.Server, p.URL(), "http://"+p.OpsAddr)
	}
	for _, p := range st.Servers.All() {
		add(p, "", "")
	}
	return s
}

func statePath(dir string) string { return filepath.Join(dir, "state.json") }
func envPath(dir string) string   { return filepath.Join(dir, "env") }
func lockPath(dir string) string  { return filepath.Join(dir, "lock") }

// write stores the state, and the environment in a form that a shell can read.
func (s state) write(dir string) error {
	var env strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		fmt.Fprintf(&env, "export %s='%s'\n", name, s.Env[name])
	}
	if err := os.WriteFile(envPath(dir), []byte(env.String()), 0o600); err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	if err := os.WriteFile(statePath(dir)+".new", text, 0o600); err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	if err := os.Rename(statePath(dir)+".new", statePath(dir)); err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	return nil
}

// forget removes the files of write: a shell that read them would take a later stack for this one.
func forget(dir string) error { return errors.Join(os.Remove(envPath(dir)), os.Remove(statePath(dir))) }

// errDown is returned when no stack is up, errHeld when one is up already.
var (
	errDown = errors.New("nothing is up; start it with: make up")
	errHeld = errors.New("a stack is up already; see it with: make status; stop it with: make down")
)

// readState returns the state of the running stack, or errDown.
func readState(dir string) (state, error) {
	held, err := lockHeld(dir)
	if err != nil {
		return state{}, err
	}
	text, err := os.ReadFile(statePath(dir))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !held {
		return state{}, errDown
	}
	var s state
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return state{}, fmt.Errorf("read state: %w", err)
	}
	return s, nil
}

// lock takes the lock that marks a running stack, if it is free. The system frees it when the process ends in any way.
func lock(dir string) (f *flock.Flock, free bool, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, false, fmt.Errorf("lock %s: %w", dir, err)
	}
	f = flock.New(lockPath(dir))
	if free, err = f.TryLock(); err != nil {
		return nil, false, fmt.Errorf("lock %s: %w", dir, err)
	}
	return f, free, nil
}

func lockHeld(dir string) (bool, error) {
	f, free, err := lock(dir)
	if err != nil || !free {
		return err == nil, err
	}
	return false, f.Unlock()
}
