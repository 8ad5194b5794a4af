package deduct

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"orderstock/pkg/operation"
)

// keeper keeps the lock of one partition for this process. It acquires the lock when work arrives, and keeps it for a
// tenure, because a hand-over to another process takes more than half the time of a group. After a tenure it keeps the
// lock only if no other process waits and there was work since; without work, the next process gets it at once.
//
// A live holder hands the lock on within a tenure and a transaction. If ZooKeeper names the same holder at two looks,
// that holder is considered dead or paused, and work continues without the lock until it is free. The process stays in
// ZooKeeper's queue.
//
// One group of the process uses the lock at a time: from acquire to done. If another process waits, the lock is kept
// between two groups for at most the rest of its tenure, so a process that waits for a lower lock does not keep a
// higher one from the others.
type keeper struct {
	locker
	partition int
	above     int         // how many partitions are above: a holder may wait for each of their locks
	more      func() bool // whether work that may need the lock waits in this process
	mutex     Acquire
	holder    func(ctx context.Context) (operation.Token, error) // the token of the lock's holder, in any process
	patience  time.Duration

	turn chan struct{} // holds a value while a group uses the keeper; guards the fields below
	took time.Duration // duration of the last group's transaction
	busy bool          // whether the last group said that more follow
	// tenancy is the pending acquisition or, between groups, the lock; nil if there is neither.
	tenancy *tenancy
	// released is closed when the last lock is released, or its queue left; nil if there was none. The next acquisition
	// waits for it.
	released chan struct{}
	// denied is true from when patience is used up until the lock is granted.
	denied bool
	// seen is the holder at the last look since the lock was granted; nil before the first look. The zero token means that
	// nobody held the lock.
	seen *operation.Token
}

// tenure is how long the lock is kept while callers wait here and in other processes.
const tenure = 50 * time.Millisecond

// tenancy is the time of the process with the lock, of one tenure or more, and the acquisition before.
type tenancy struct {
	stop  context.CancelFunc // ends the acquisition
	asked chan struct{}      // closed when the acquisition has ended; lock, err and since are valid then
	lock  Lock
	err   error

	// Guarded by the keeper's turn.
	held   bool      // a group has found the lock granted
	since  time.Time // when the present tenure began
	used   bool      // whether a group had the lock in it
	wanted bool      // whether another process waits for the lock
}

// newKeeper returns the keeper of a partition's lock. Its field more is to be set.
func newKeeper(cfg Config, l locker, s *Session, partition int) *keeper {
	path := PartitionPath(cfg.Root, partition)
	return &keeper{
		locker: l, partition: partition, above: cfg.Partitions - partition - 1,
		mutex:    func(ctx context.Context) (Lock, error) { return s.Acquire(ctx, path) },
		holder:   func(ctx context.Context) (operation.Token, error) { return s.holder(ctx, path) },
		patience: cmp.Or(cfg.LockPatience, 100*time.Millisecond), turn: make(chan struct{}, 1),
	}
}

// PartitionPath returns the path of a partition's lock in ZooKeeper, below root.
func PartitionPath(root string, partition int) string {
	return fmt.Sprintf("%s/stock/partition-%02d", root, partition)
}

// acquire waits for the group's turn and returns the lock. It calls yield, in another goroutine, if it has to wait for
// another process. It returns the zero Lock, and needs no done, if the lock is not granted within the patience or ctx
// ends.
func (k *keeper) acquire(ctx context.Context, yield func()) Lock {
	select {
	case k.turn <- struct{}{}:
	case <-ctx.Done():
		return Lock{}
	}
	if k.has(ctx, yield) {
		k.tenancy.used = true
		return k.tenancy.lock
	}
	<-k.turn
	return Lock{}
}

// has reports whether the lock is held, and acquires it first if need be.
func (k *keeper) has(ctx context.Context, yield func()) bool {
	if k.tenancy != nil && k.tenancy.held {
		if k.tenancy.lock.Alive.Err() == nil {
			return true
		}
		k.release(ctx)
	}
	patience := k.patience
	switch {
	case k.tenancy == nil:
		k.ask(ctx)
		if k.denied {
			patience /= 10 // it was refused a moment ago
		}
	case k.denied:
		patience = 0
	}
	defer time.AfterFunc(k.patience/10, yield).Stop() // a free lock is granted sooner
	k.denied = !k.await(ctx, patience)
	return !k.denied
}

// ask begins to acquire the lock, once the last release is done. The acquisition lasts beyond a group.
func (k *keeper) ask(ctx context.Context) {
	lasting := context.WithoutCancel(ctx)
	ctx, stop := context.WithCancel(lasting)
	t, released := &tenancy{stop: stop, asked: make(chan struct{})}, k.released
	k.tenancy = t
	go func() {
		if released != nil {
			<-released // within releaseLimit
		}
		t.lock, t.err = k.take(ctx, k.mutex)
		t.since, t.wanted = time.Now(), t.lock.Wanted == nil
		close(t.asked)
		if t.err == nil {
			k.watch(lasting, t)
		}
	}()
}

// await waits for the pending acquisition and reports whether the lock is held now. After patience it looks at the
// lock's holder. Each later pause lasts a tenure plus twice the time of the last group here, for this lock and each
// above, at least three times the keeper's patience and at most five times. It gives up when it sees the same holder
// again, when ZooKeeper does not answer within the patience, or when ctx ends.
func (k *keeper) await(ctx context.Context, patience time.Duration) bool {
	select {
	case <-k.tenancy.asked:
		return k.granted()
	default:
	}
	again := min(max(3*k.patience, (tenure+2*k.took)*time.Duration(1+k.above)), 5*k.patience)
	for pause := patience; pause > 0; pause = again {
		timer := time.NewTimer(pause)
		select {
		case <-k.tenancy.asked:
			timer.Stop()
			return k.granted()
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-timer.C:
		}
		asking, cancel := context.WithTimeout(ctx, k.patience)
		holder, err := k.holder(asking)
		cancel()
		if err != nil || k.seen != nil && holder == *k.seen {
			return false
		}
		k.seen = &holder
	}
	return false
}

// granted records the outcome of the acquisition, and reports whether the lock is held.
func (k *keeper) granted() bool {
	k.tenancy.stop()
	if k.tenancy.err != nil {
		k.tenancy = nil
		return false
	}
	k.tenancy.held, k.seen = true, nil
	return true
}

var errPassedBy = errors.New("lock not granted within the patience; going on without it")

// errNotHeld returns an error if the lock is the zero Lock.
func (l Lock) errNotHeld() error {
	if l.Release == nil {
		return errPassedBy
	}
	return nil
}

// done ends a group's use of the lock. Unless it is of no use any more, the lock is kept for the groups that follow if
// no other process waits, or more is true and the tenure is not over.
func (k *keeper) done(ctx context.Context, more, useless bool) {
	k.busy = more
	t := k.tenancy
	held := t != nil && t.held
	if useless || (!more || held && t.over()) && (!held || t.wanted) {
		k.release(ctx)
	}
	<-k.turn
}

// over reports whether the present tenure is over.
func (t *tenancy) over() bool { return time.Since(t.since) >= tenure }

// idle is done without more work, unless a group uses the lock.
func (k *keeper) idle(ctx context.Context) {
	select {
	case k.turn <- struct{}{}:
		k.done(ctx, false, false)
	default:
	}
}

// watch releases the lock, once no group uses it: as soon as another process waits for it, but at the end of the tenure
// if work follows here; and at the end of a tenure that no group used. Otherwise another tenure begins.
func (k *keeper) watch(ctx context.Context, t *tenancy) {
	for wanted := t.lock.Wanted == nil; ; {
		rest, cancel := context.WithDeadline(ctx, t.since.Add(tenure))
		comes := !wanted && t.lock.Wanted(rest) == nil
		if !comes {
			<-rest.Done()
		}
		cancel()
		wanted = wanted || comes
		k.turn <- struct{}{}
		t.wanted = wanted
		switch over := t.over(); {
		case k.tenancy != t: // it is released
			<-k.turn
			return
		case wanted && (over || !k.busy), over && !t.used:
			k.release(ctx)
		case over:
			t.since, t.used = time.Now(), false
		}
		<-k.turn
	}
}

// release releases the lock, or leaves the queue for it. It does so in the background: if ZooKeeper does not answer,
// the next group has its patience for that, too.
func (k *keeper) release(ctx context.Context) {
	t, released := k.tenancy, make(chan struct{})
	if t == nil {
		return
	}
	t.stop()
	k.tenancy, k.released = nil, released
	go func() {
		defer close(released)
		if <-t.asked; t.err == nil {
			k.locker.release(ctx, []Lock{t.lock})
		}
	}()
}

// close waits until the last lock is released. No group may use the keeper any more.
func (k *keeper) close() {
	k.turn <- struct{}{}
	released := k.released
	<-k.turn
	if released != nil {
		<-released
	}
}
