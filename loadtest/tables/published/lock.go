// Package published holds the sequential lock of the case study with the faults I to N of its published versions. Each
// fault is a switch: with none, the lock is correct. It exists to be caught; only a build with the tag "faults" links
// it.
package published

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"

	"orderstock/loadtest/faultpoint"
	"orderstock/pkg/retry"
)

// Fault is a published fault of a lock, by its name in the environment variable MUTANT.
type Fault string

// The faults.
const (
	// Sound is no fault: it switches the lock on, without one.
	Sound Fault = "published-lock"
	// Parent (I): check whether the parent node exists, then create it. Of two concurrent callers one fails.
	Parent Fault = "published-parent"
	// Latch (J): look at the predecessor, then begin to listen. An event between the two wakes nobody.
	Latch Fault = "published-latch"
	// NoSecondLook (K): take the lock as soon as the predecessor is gone, though it may have been a waiter.
	NoSecondLook Fault = "published-no-second-look"
	// LeftBehind (L): leave the node in the queue when the wait times out.
	LeftBehind Fault = "published-left-behind"
	// FirstChild (M): release by deleting the first child, even if it is another's.
	FirstChild Fault = "published-first-child"
	// SplitName (N): sort the children by the second piece of their names, split at "-".
	SplitName Fault = "published-split-name"
)

// FaultsOf returns the faults, or Sound, in a list of mutants, separated by commas.
func FaultsOf(mutants string) (faults []Fault) {
	for name := range strings.SplitSeq(mutants, ",") {
		switch f := Fault(name); f {
		case Sound, Parent, Latch, NoSecondLook, LeftBehind, FirstChild, SplitName:
			faults = append(faults, f)
		}
	}
	return faults
}

// Lock is a lock on one node of ZooKeeper. It is safe for concurrent use.
type Lock struct {
	conn   *zk.Conn
	dir    string
	faults []Fault
}

// New returns the lock on the node dir.
func New(conn *zk.Conn, dir string, faults ...Fault) *Lock { return &Lock{conn, dir, faults} }

func (l *Lock) has(f Fault) bool { return slices.Contains(l.faults, f) }

// Held is an acquired lock.
type Held struct {
	lock *Lock
	node string
	// Czxid is the transaction that created the holder's node. It rises with every holder.
	Czxid int64
}

const prefix = "lock-"

// newcomers are held up between two lines until another one has come as far, by the parent that both miss.
var newcomers sync.Map

// Acquire waits for the lock until ctx ends.
func (l *Lock) Acquire(ctx context.Context) (*Held, error) {
	if err := l.makeParent(ctx, l.dir); err != nil {
		return nil, err
	}
	// A GUID prefix finds the node again if the reply to the creation is lost.
	name := path.Join(l.dir, "_c_"+l.guid()+"-"+prefix)
	node, err := l.conn.Create(name, nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
	if err != nil {
		return nil, fmt.Errorf("create node: %w", err)
	}
	if err := l.wait(ctx, node); err != nil {
		if l.has(LeftBehind) {
			record(ctx, faultpoint.LeaveNode, faultpoint.Values{Node: path.Base(node)})
			return nil, err
		}
		return nil, errors.Join(err, l.remove(ctx, node, node))
	}
	_, stat, err := l.conn.Exists(node)
	if err != nil {
		return nil, fmt.Errorf("read own node: %w", err)
	}
	return &Held{lock: l, node: node, Czxid: stat.Czxid}, nil
}

// nodes counts the nodes of the process.
var nodes atomic.Uint32

// guid returns a GUID. With SplitName, the piece that is taken for the number is smaller than all before in every
// eighth, and greater than these in the others: by chance, it would be smaller now and then.
func (l *Lock) guid() string {
	id, n := uuid.NewString(), nodes.Add(1)
	if !l.has(SplitName) {
		return id
	}
	piece := 0x8000 | rand.Uint32N(0x8000)
	if n%8 == 0 {
		piece = 0x7fff - n/8%0x8000
	}
	return fmt.Sprintf("%s%04x%s", id[:9], piece, id[13:])
}

// makeParent creates the node and those above it.
func (l *Lock) makeParent(ctx context.Context, dir string) error {
	if dir == "/" {
		return nil
	}
	there, _, err := l.conn.Exists(dir)
	if err != nil {
		return fmt.Errorf("look for %s: %w", dir, err)
	}
	if there {
		return nil
	}
	if err := l.makeParent(ctx, path.Dir(dir)); err != nil {
		return err
	}
	if l.has(Parent) {
		m, _ := newcomers.LoadOrStore(dir, &faultpoint.Meeting{})
		if err := m.(*faultpoint.Meeting).Meet(ctx); err != nil {
			return err
		}
	}
	faultpoint.Record(ctx, faultpoint.MakeParent, faultpoint.Before, faultpoint.Values{Node: dir})
	_, err = l.conn.Create(dir, nil, 0, zk.WorldACL(zk.PermAll))
	record(ctx, faultpoint.MakeParent, faultpoint.Values{Node: dir, Error: faultpoint.Failed(err)})
	if errors.Is(err, zk.ErrNodeExists) && !l.has(Parent) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("create %s: %w", dir, err)
	}
	return nil
}

// wait returns when node is the first in the queue.
func (l *Lock) wait(ctx context.Context, node string) error {
	for {
		children, err := l.queue()
		if err != nil {
			return err
		}
		at := slices.Index(children, path.Base(node))
		if at < 0 {
			return fmt.Errorf("own node %s is gone", node)
		}
		before := children[max(at-1, 0)]
		if at == 0 {
			before = ""
		}
		record(ctx, faultpoint.Queue, faultpoint.Values{Node: path.Base(node), Behind: before})
		if at == 0 {
			return nil
		}
		if err := l.awaitGone(ctx, path.Join(l.dir, children[at-1])); err != nil {
			return err
		}
		record(ctx, faultpoint.Woken, faultpoint.Values{Node: path.Base(node), Behind: before})
		if l.has(NoSecondLook) {
			return nil
		}
	}
}

// record keeps an event after a step of the lock.
func record(ctx context.Context, step faultpoint.Step, v faultpoint.Values) {
	faultpoint.Record(ctx, step, faultpoint.After, v)
}

func (l *Lock) awaitGone(ctx context.Context, node string) error {
	there, _, events, err := l.conn.ExistsW(node)
	if err != nil {
		return fmt.Errorf("watch %s: %w", node, err)
	}
	if !there {
		return nil
	}
	if l.has(Latch) {
		// The library's thread hands the event over, and there is no latch yet: this thread is held up until then.
		select {
		case <-events:
			events = nil
			record(ctx, faultpoint.Unlatched, faultpoint.Values{Behind: path.Base(node)})
		case <-ctx.Done():
		}
	}
	select {
	case <-events:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for %s: %w", node, ctx.Err())
	}
}

// queue returns the children in queue order.
func (l *Lock) queue() ([]string, error) {
	children, _, err := l.conn.Children(l.dir)
	if err != nil {
		return nil, fmt.Errorf("read queue: %w", err)
	}
	key := func(name string) string { return name[strings.LastIndex(name, "-")+1:] }
	if l.has(SplitName) {
		key = func(name string) string { return strings.Split(name, "-")[1] }
	}
	slices.SortFunc(children, func(a, b string) int { return strings.Compare(key(a), key(b)) })
	return children, nil
}

// releaseWithin is how long a release is tried: a process that slept needs a new connection, and ZooKeeper may be busy.
const releaseWithin = 20 * time.Second

// Release gives the lock back. It is tried again after an error of the connection.
func (h *Held) Release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseWithin)
	defer cancel()
	again := retry.Policy{First: 10 * time.Millisecond, Max: 100 * time.Millisecond}
	return retry.Run(ctx, again, func() error {
		if !h.lock.has(FirstChild) {
			return h.lock.remove(ctx, h.node, h.node)
		}
		children, err := h.lock.queue()
		if err != nil || len(children) == 0 {
			return err
		}
		return h.lock.remove(ctx, h.node, path.Join(h.lock.dir, children[0]))
	})
}

// remove deletes a node of the queue, for the owner of the node own.
func (l *Lock) remove(ctx context.Context, own, node string) error {
	v := faultpoint.Values{Node: path.Base(own), Deleted: path.Base(node)}
	faultpoint.Record(ctx, faultpoint.DeleteNode, faultpoint.Before, v)
	err := l.conn.Delete(node, -1)
	v.Error = faultpoint.Failed(err)
	record(ctx, faultpoint.DeleteNode, v)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}
