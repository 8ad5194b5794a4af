package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Ensemble is several ZooKeeper servers that form one service.
type Ensemble struct {
	// Servers are its members; server.1 of the configuration is Servers[0].
	Servers []*ZooKeeper
}

// StartEnsemble starts an ensemble of n ZooKeeper servers, each with its data
// in a folder of dir, and returns once all of them serve.
func StartEnsemble(ctx context.Context, dir string, n int, opts ...Option) (*Ensemble, error) {
	var (
		members = make([]options, n)
		lines   []string
	)
	for i := range members {
		members[i] = newOptions(opts)
		var p [3]int
		for k := range p {
			port, err := FreePort()
			if err != nil {
				return nil, fmt.Errorf("start ensemble: %w", err)
			}
			p[k] = port
		}
		members[i].addr = local(p[0])
		lines = append(lines, fmt.Sprintf("server.%d=127.0.0.1:%d:%d", i+1, p[1], p[2]))
	}
	var (
		e       = &Ensemble{Servers: make([]*ZooKeeper, n)}
		errs    = make([]error, n)
		started sync.WaitGroup
	)
	for i, o := range members {
		started.Go(func() {
			name := fmt.Sprintf("zookeeper-%d", i+1)
			folder := filepath.Join(dir, name)
			o.config = append(o.config, lines...)
			if errs[i] = writeMyID(folder, i+1); errs[i] == nil {
				e.Servers[i], errs[i] = startZooKeeper(ctx, name, folder, o)
			}
		})
	}
	started.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, e.Kill())
	}
	return e, nil
}

func writeMyID(folder string, id int) error {
	data := filepath.Join(folder, "data")
	if err := os.MkdirAll(data, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(data, "myid"), fmt.Appendln(nil, id), 0o644)
}

// Addr returns the addresses of all members, separated by commas.
func (e *Ensemble) Addr() string { return strings.Join(e.Addrs(), ",") }

// Addrs returns the addresses of all members.
func (e *Ensemble) Addrs() []string {
	addrs := make([]string, len(e.Servers))
	for i, z := range e.Servers {
		addrs[i] = z.Addr()
	}
	return addrs
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

// Stop stops all members gracefully, together.
func (e *Ensemble) Stop(ctx context.Context) error {
	return e.each(func(z *ZooKeeper) error { return z.Stop(ctx) })
}

// Kill kills all members.
func (e *Ensemble) Kill() error { return e.each(func(z *ZooKeeper) error { return z.Kill() }) }

// Restart starts all members again, together, with the same ports and data.
func (e *Ensemble) Restart(ctx context.Context) error {
	return e.each(func(z *ZooKeeper) error { return z.Restart(ctx) })
}

func (e *Ensemble) each(do func(*ZooKeeper) error) error {
	errs := make([]error, len(e.Servers))
	var all sync.WaitGroup
	for i, z := range e.Servers {
		if z != nil {
			all.Go(func() { errs[i] = do(z) })
		}
	}
	all.Wait()
	return errors.Join(errs...)
}
