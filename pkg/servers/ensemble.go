package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Ensemble is several ZooKeeper servers that form one service.
type Ensemble struct {
	Fleet
	// Servers are its members; server.1 of the configuration is Servers[0].
	Servers []*ZooKeeper
}

// StartEnsemble starts an ensemble of n ZooKeeper servers, each with its data
// in a folder of dir, and returns once all of them serve.
func StartEnsemble(ctx context.Context, dir string, n int, opts ...Option) (*Ensemble, error) {
	var (
		addrs, lines []string
		starts       []func() (*ZooKeeper, error)
	)
	for i := range n {
		var p [3]int
		for k := range p {
			port, err := FreePort()
			if err != nil {
				return nil, fmt.Errorf("start ensemble: %w", err)
			}
			p[k] = port
		}
		addrs = append(addrs, local(p[0]))
		lines = append(lines, fmt.Sprintf("server.%d=127.0.0.1:%d:%d", i+1, p[1], p[2]))
		starts = append(starts, func() (*ZooKeeper, error) {
			name := fmt.Sprintf("zookeeper-%d", i+1)
			folder := filepath.Join(dir, name)
			if err := writeMyID(folder, i+1); err != nil {
				return nil, fmt.Errorf("start %s: %w", name, err)
			}
			o, err := newOptions(append(slices.Clone(opts), WithAddr(addrs[i]))...)
			if err != nil {
				return nil, fmt.Errorf("start %s: %w", name, err)
			}
			o.config = lines
			return startZooKeeper(ctx, name, folder, o)
		})
	}
	members, err := StartAll(starts...)
	if err != nil {
		return nil, err
	}
	e := &Ensemble{Servers: members}
	for _, z := range members {
		e.Fleet = append(e.Fleet, z.Server)
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
