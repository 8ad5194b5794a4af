package zklock

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock/internal/conn"
)

// Status has the holders of a lock and its waiters at one moment, as far as ZooKeeper knows: all
// waiters in a process with local hand-off are behind one Contender.
type Status struct {
	Path    string      `json:"path"`
	Holders []Contender `json:"holders"` // the first ten; one for a mutex or a writer
	Waiters []Contender `json:"waiters"` // the first ten, in order
	// Holding and Waiting count all holders and all waiters.
	Holding int `json:"holding"`
	Waiting int `json:"waiting"`
}

// Contender is a node in a lock's queue.
type Contender struct {
	Node    string    `json:"node"`    // its name
	Mode    string    `json:"mode"`    // lock, read, write or lease
	Token   Token     `json:"token"`   // Local is 0
	Since   time.Time `json:"since"`   // when it queued, by ZooKeeper's clock
	Session int64     `json:"session"` // ZooKeeper session; its log has it as %#x of the uint64
	Owner   Owner     `json:"owner"`
}

// modes are the modes of the kinds that are not a Mutex's.
var modes = map[kind]string{readKind: "read", writeKind: "write", leaseKind: "lease"}

// inspectFirst bounds the nodes that Inspect reads of the holders, and of the waiters.
const inspectFirst = 10

// Inspect reads the holders and the waiters of the lock on path, a mutex, read-write lock or semaphore, for a console
// or an operator. It lists the children, and reads the first ten holders and the first ten waiters, however many there
// are. Nodes may come and go while it reads; it counts one that has gone, and leaves it out. A path without a node is a
// lock that nobody wants. Give it the names of the lock's WithNames, if any.
func Inspect(ctx context.Context, s *Session, path string, names ...string) (Status, error) {
	ctx, stop := conn.Until(ctx, s.conn.Context())
	defer stop()
	o := optionsOf[Option](s, nil, nil)
	if len(names) > 0 {
		o.names = names
	}
	if err := o.check(path); err != nil {
		return Status{Path: path}, fmt.Errorf("inspect: %w", err)
	}
	path = s.root + path
	status := Status{Path: path}
	children, err := s.conn.Children(ctx, path)
	if errors.Is(err, zk.ErrNoNode) {
		return status, nil
	}
	members, e := ordered(children, append(slices.Clip(o.names), readKind, writeKind)...)
	if err = errors.Join(err, e); err != nil {
		return status, fmt.Errorf("inspect %s: %w", path, err)
	}
	for _, name := range children { // it is better to fail than to show a lock as free that is held
		if len(members) == 0 && isContender(name) {
			return status, fmt.Errorf("inspect %s: %s has none of the names %q: give Inspect the names of the lock's WithNames",
				path, name, o.names)
		}
	}
	// ZooKeeper removes "locks", the container of a semaphore's mutex, while nobody waits.
	if len(members) == 0 && slices.Contains(children, "leases") {
		return inspectSemaphore(ctx, s.conn, path)
	}
	holding := min(1, len(members))
	for holding > 0 && holding < len(members) && members[0].kind == readKind && members[holding].kind == readKind {
		holding++
	}
	status.Holding, status.Waiting = holding, len(members)-holding
	if status.Holders, err = contendersOf(ctx, s.conn, path, members[:holding]); err == nil {
		status.Waiters, err = contendersOf(ctx, s.conn, path, members[holding:])
	}
	if err != nil {
		return status, fmt.Errorf("inspect %s: %w", path, err)
	}
	return status, nil
}

// inspectSemaphore takes the leases for holders, and the contenders of the mutex for waiters. The first
// waiter may have made the node of its lease already, which is then one too many among the holders.
func inspectSemaphore(ctx context.Context, c *conn.Conn, path string) (status Status, err error) {
	status.Path = path
	read := func(dir string, k kind) (all int, first []Contender) {
		names, e := c.Children(ctx, dir)
		members, e2 := ordered(names, k)
		if e = errors.Join(e, e2); e == nil {
			first, e = contendersOf(ctx, c, dir, members)
		}
		if e != nil && !errors.Is(e, zk.ErrNoNode) {
			err = errors.Join(err, fmt.Errorf("inspect %s: %w", dir, e))
		}
		return len(members), first
	}
	status.Holding, status.Holders = read(path+"/leases", leaseKind)
	status.Waiting, status.Waiters = read(path+"/locks", lockKind)
	if len(status.Holders) > 0 {
		if leases := status.Holders[0].Owner.Leases; leases > 0 {
			status.Holding = min(status.Holding, leases)
			status.Holders = status.Holders[:min(len(status.Holders), leases)]
		}
	}
	return status, err
}

// contendersOf reads the nodes of the first members, and returns them in order.
func contendersOf(ctx context.Context, c *conn.Conn, dir string, members []member) ([]Contender, error) {
	members = members[:min(len(members), inspectFirst)]
	contenders := make([]Contender, len(members))
	errs := make([]error, len(members))
	var all sync.WaitGroup
	for i, m := range members {
		all.Go(func() { contenders[i], errs[i] = contenderOf(ctx, c, dir, m) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return nil, err
		}
	}
	return slices.DeleteFunc(contenders, func(c Contender) bool { return c.Node == "" }), nil
}

func contenderOf(ctx context.Context, c *conn.Conn, dir string, m member) (Contender, error) {
	return conn.Do(ctx, c, func() (Contender, error) {
		data, stat, err := c.ZK.Get(dir + "/" + m.name)
		if err != nil {
			return Contender{}, err
		}
		return Contender{
			Node: m.name, Mode: cmp.Or(modes[m.kind], "lock"), Token: Token{Czxid: stat.Czxid},
			Since: time.UnixMilli(stat.Ctime), Session: stat.EphemeralOwner, Owner: ownerOf(data),
		}, nil
	})
}

// Owner describes who made a queue node. It is stored in the node.
type Owner struct {
	Host  string `json:"host,omitempty"`
	PID   int    `json:"pid,omitempty"`
	Label string `json:"label,omitempty"`
	// Leases is the number of leases of a semaphore.
	Leases int `json:"leases,omitempty"`
}

func (o Owner) encode() []byte {
	data, _ := json.Marshal(o) // strings and numbers never fail
	return data
}

// ownerOf reads a node's data. Data that another client wrote becomes the label: Curator, for example,
// writes the host's address.
func ownerOf(data []byte) Owner {
	var o Owner
	if err := json.Unmarshal(data, &o); err != nil {
		return Owner{Label: string(data)}
	}
	return o
}
