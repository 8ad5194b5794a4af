package servers

import (
	"context"
	"errors"
	"fmt"
)

// Ensemble is several ZooKeeper servers that form one service.
type Ensemble struct {
	Fleet
	// Servers are its members; server.1 of the configuration is Servers[0].
	Servers []*ZooKeeper
}

// StartEnsemble starts an ensemble of n ZooKeeper servers, and returns once all of them serve.
func StartEnsemble(ctx context.Context, n int, o Options) (_ *Ensemble, err error) {
	var each []Options
	for i := range n {
		var ports [3]int
		for k := range ports {
			if ports[k], err = FreePort(); err != nil {
				return nil, fmt.Errorf("start ensemble: %w", err)
			}
		}
		o.config = append(o.config, fmt.Sprintf("server.%d=127.0.0.1:%d:%d", i+1, ports[1], ports[2]))
		o.Addr = local(ports[0])
		each = append(each, o)
	}
	for i := range each {
		each[i].id, each[i].config = i+1, o.config
	}
	e := &Ensemble{}
	e.Servers, e.Fleet, err = startMembers(ctx, o.Dir, "zookeeper", StartZooKeeper, each)
	return e, err
}

// Leader returns the member that leads now.
func (e *Ensemble) Leader(ctx context.Context) (*ZooKeeper, error) { return e.member(ctx, "leader") }

// Follower returns a member that follows now.
func (e *Ensemble) Follower(ctx context.Context) (*ZooKeeper, error) {
	return e.member(ctx, "follower")
}

func (e *Ensemble) member(ctx context.Context, mode string) (*ZooKeeper, error) {
	var errs []error
	for _, z := range e.Servers {
		m, err := z.Mode(ctx)
		if m == mode {
			return z, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(append(errs, fmt.Errorf("no member is the %s", mode))...)
}
