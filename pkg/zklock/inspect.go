package zklock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"
)

// Status is who had a lock and who waited for it at one moment, as far as ZooKeeper knows: those
// who wait within a process for its local hand-off are behind one Contender.
type Status struct {
	Path    string      `json:"path"`
	Holders []Contender `json:"holders"` // one for a mutex or a writer
	Waiters []Contender `json:"waiters"` // in order
}

// Contender is a node in a lock's queue.
type Contender struct {
	Node    string    `json:"node"`    // its name
	Mode    string    `json:"mode"`    // lock, read, write or lease
	Token   Token     `json:"token"`   // without what local hand-off has added to it
	Since   time.Time `json:"since"`   // when it queued, by ZooKeeper's clock
	Session int64     `json:"session"` // ZooKeeper session
	Owner   Owner     `json:"owner"`
}

var modes = map[kind]string{kindLock: "lock", kindRead: "read", kindWrite: "write", kindLease: "lease"}

const inspectAtOnce = 16

// Inspect reads who holds the lock on path, mutex, read-write lock or semaphore, and who waits,
// for a console or an operator. Nodes may come and go while it reads; one that has gone is left
// out. A path without a node is a lock that nobody wants.
func Inspect(ctx context.Context, s *Session, path string) (Status, error) {
	status := Status{Path: path}
	names, err := s.children(ctx, path)
	if errors.Is(err, zk.ErrNoNode) {
		return status, nil
	}
	if err != nil {
		return status, fmt.Errorf("inspect %s: %w", path, err)
	}
	if slices.Contains(names, "leases") && slices.Contains(names, "locks") {
		return inspectSemaphore(ctx, s, path)
	}
	contenders, err := s.contenders(ctx, path, names, kindLock, kindRead, kindWrite)
	if err != nil {
		return status, fmt.Errorf("inspect %s: %w", path, err)
	}
	holders := min(1, len(contenders))
	for holders > 0 && holders < len(contenders) && contenders[0].Mode == "read" && contenders[holders].Mode == "read" {
		holders++
	}
	status.Holders, status.Waiters = contenders[:holders], contenders[holders:]
	return status, nil
}

// inspectSemaphore takes the leases for held, and those at the gate for waiting. The first of
// these may have made its lease's node already, which is one too many then.
func inspectSemaphore(ctx context.Context, s *Session, path string) (Status, error) {
	status := Status{Path: path}
	for dir, part := range map[string]struct {
		kind kind
		into *[]Contender
	}{
		path + "/leases": {kindLease, &status.Holders},
		path + "/locks":  {kindLock, &status.Waiters},
	} {
		names, err := s.children(ctx, dir)
		if err == nil {
			*part.into, err = s.contenders(ctx, dir, names, part.kind)
		}
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return status, fmt.Errorf("inspect %s: %w", path, err)
		}
	}
	if len(status.Holders) > 0 {
		if leases := status.Holders[0].Owner.Leases; leases > 0 && len(status.Holders) > leases {
			status.Holders = status.Holders[:leases]
		}
	}
	return status, nil
}

// contenders reads the nodes of the kinds among the children of dir, and returns them in order.
func (s *Session) contenders(ctx context.Context, dir string, names []string, kinds ...kind) ([]Contender, error) {
	queue, err := s.queue(ctx, dir, names, kinds...)
	if err != nil {
		return nil, err
	}
	contenders := make([]Contender, len(queue))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(inspectAtOnce)
	for i, m := range queue {
		group.Go(func() (err error) {
			contenders[i], err = s.contender(ctx, dir, m)
			if errors.Is(err, zk.ErrNoNode) {
				return nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(contenders, func(c Contender) bool { return c.Node == "" }), nil
}

func (s *Session) contender(ctx context.Context, dir string, m member) (Contender, error) {
	return call(ctx, s, func() (Contender, error) {
		data, stat, err := s.conn.Get(dir + "/" + m.Name)
		if err != nil {
			return Contender{}, err
		}
		return Contender{
			Node: m.Name, Mode: modes[m.Kind], Token: Token{Czxid: stat.Czxid},
			Since: time.UnixMilli(stat.Ctime), Session: stat.EphemeralOwner, Owner: ownerOf(data),
		}, nil
	}, nil)
}
