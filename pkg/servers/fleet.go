package servers

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
)

// Fleet is several servers that are stopped together.
type Fleet []*Server

// Stop stops the servers that this process started gracefully, together. The others stay.
func (f Fleet) Stop(ctx context.Context) error {
	return f.each(func(s *Server) error { return s.Stop(ctx) })
}

// Kill kills the servers that this process started. The others stay.
func (f Fleet) Kill() error { return f.each((*Server).Kill) }

// Restart restarts the servers that this process started, together, with the same addresses and data.
func (f Fleet) Restart(ctx context.Context) error {
	return f.each(func(s *Server) error { return s.Restart(ctx) })
}

// Addrs returns the addresses of all servers.
func (f Fleet) Addrs() []string {
	addrs := make([]string, len(f))
	for i, s := range f {
		addrs[i] = s.Addr()
	}
	return addrs
}

// Addr returns the addresses of all servers, separated by commas.
func (f Fleet) Addr() string { return strings.Join(f.Addrs(), ",") }

func (f Fleet) each(do func(*Server) error) error {
	errs := make([]error, len(f))
	var doing sync.WaitGroup
	for i, s := range f {
		doing.Go(func() {
			if err := do(s); !errors.Is(err, ErrAttached) {
				errs[i] = err
			}
		})
	}
	doing.Wait()
	return errors.Join(errs...)
}

// Killer is a server or several.
type Killer interface{ Kill() error }

// StartAll calls the functions at once and returns their results in the same order. If one of them fails, StartAll
// kills the servers that the others started.
func StartAll[S Killer](starts ...func() (S, error)) ([]S, error) {
	all, errs := make([]S, len(starts)), make([]error, len(starts))
	var starting sync.WaitGroup
	for i, start := range starts {
		starting.Go(func() { all[i], errs[i] = start() })
	}
	starting.Wait()
	err := errors.Join(errs...)
	if err == nil {
		return all, nil
	}
	for i, started := range all {
		if errs[i] == nil {
			err = errors.Join(err, started.Kill())
		}
	}
	return nil, err
}

// member is a server of any kind.
type member interface {
	Killer
	server() *Server
}

// startMembers starts a server for each of the options, together, in folders of dir that are named after the kind and
// the member's number, from 1.
func startMembers[S member](
	ctx context.Context, dir, kind string, start func(context.Context, Options) (S, error), each []Options,
) (all []S, fleet Fleet, err error) {
	var starts []func() (S, error)
	for i, o := range each {
		o.Name = fmt.Sprintf("%s-%d", kind, i+1)
		o.Dir = filepath.Join(dir, o.Name)
		starts = append(starts, func() (S, error) { return start(ctx, o) })
	}
	if all, err = StartAll(starts...); err != nil {
		return nil, nil, err
	}
	for _, s := range all {
		fleet = append(fleet, s.server())
	}
	return all, fleet, nil
}
