package system

import (
	"context"
	"errors"
	"fmt"
	"time"

	"orderstock/pkg/servers"
)

// Process is a replica or a server.
type Process interface {
	Name() string
	Running() bool
	Starting() bool
	Paused() bool
	Kill() error
	Pause() error
	Resume() error
	Restart(ctx context.Context) error
}

// Repair makes a process run again after any fault: it restarts a dead one, resumes a paused one, and disarms a
// replica. A server that this process has not started, and so cannot have broken, is left alone.
func Repair(ctx context.Context, p Process) error {
	for {
		if !p.Running() {
			if err := p.Restart(ctx); errors.Is(err, servers.ErrAttached) {
				return nil
			} else if err != nil {
				return err
			}
		}
		err := p.Resume()
		if r, ok := p.(*Service); ok && err == nil {
			err = r.Disarm(ctx)
		}
		if err == nil || p.Running() && ctx.Err() != nil {
			return err
		}
		// It does not answer yet, or a rule that was still armed has killed or stopped it: try again.
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Away reports whether a process is dead, paused or starting.
func Away(p Process) bool { return !p.Running() || p.Paused() || p.Starting() }

// ServerProcesses returns MySQL, Redis and ZooKeeper, which are no cluster, or all containers.
func (s *System) ServerProcesses() []Process {
	if s.attached {
		return s.containers
	}
	return []Process{s.MySQL, s.Redis, s.ZooKeeper}
}

// RepairServers restarts dead servers and resumes paused ones. It forms the group of a cluster again.
func (s *System) RepairServers(ctx context.Context) error {
	if s.Cluster != nil {
		return s.Cluster.repair(ctx)
	}
	return repair(ctx, s.ServerProcesses())
}

// MendWires ends the faults of all connections, and the duplication of requests.
func (s *System) MendWires(ctx context.Context) error {
	var errs []error
	for _, r := range s.Replicas() {
		for _, wires := range r.Wires {
			for _, w := range wires {
				errs = append(errs, w.Mend(ctx))
			}
		}
	}
	for _, d := range s.Duplicators {
		d.Switch(false)
	}
	return errors.Join(errs...)
}

// RepairReplicas restarts dead replicas, resumes paused ones, and disarms all.
func (s *System) RepairReplicas(ctx context.Context) error { return repair(ctx, s.Replicas()) }

func repair[P Process](ctx context.Context, all []P) error {
	var errs []error
	for _, p := range all {
		if err := Repair(ctx, p); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.Name(), err))
		}
	}
	return errors.Join(errs...)
}
