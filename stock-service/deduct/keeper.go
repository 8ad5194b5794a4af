package deduct

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
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

	turn  chan struct{} // holds a value while a group uses the keeper; guards the fields below
	took  time.Duration // duration of the last group's transaction
	kept  *Lock         // the lock between groups; nil if it is not held
	since time.Time     // when its tenure began
	busy  bool          // whether the last group said that more follow
	used  bool          // whether a group had it in this tenure
	// wanted says that another process waits for the lock. It is nil until the lock is kept without work or longer than a
	// tenure.
	wanted *atomic.Bool
	// asked gets the outcome of the pending acquisition, and stop ends it; nil if there is none.
	asked chan acquired
	stop  context.CancelFunc
	// from is the acquisition that kept is of; nil if the lock is not held.
	from chan acquired
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
		k.used = true
		return *k.kept
	}
	<-k.turn
	return Lock{}
}

// has reports whether the lock is held, and acquires it first if need be.
func (k *keeper) has(ctx context.Context, yield func()) bool {
	if k.kept != nil && k.kept.Alive.Err() == nil {
		return true
	}
	if k.kept != nil {
		k.release(ctx)
	}
	patience := k.patience
	switch {
	case k.asked == nil:
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
	ctx, k.stop = context.WithCancel(context.WithoutCancel(ctx))
	asked, released := make(chan acquired, 1), k.released
	k.asked = asked
	go func() {
		if released != nil {
			<-released // within releaseLimit
		}
		lock, err := k.take(ctx, k.mutex)
		at := time.Now() // before the timer starts: when it fires, the tenure is over
		if err == nil {
			k.endTenure(ctx, asked)
		}
		asked <- acquired{lock, at, err}
	}()
}

type acquired struct {
	lock Lock
	at   time.Time
	err  error
}

// await waits for the pending acquisition and reports whether the lock is held now. After patience it looks at the
// lock's holder. Each later pause lasts a tenure plus twice the time of the last group here, for this lock and each
// above, at least three times the keeper's patience and at most five times. It gives up when it sees the same holder
// again, when ZooKeeper does not answer, or when ctx ends.
func (k *keeper) await(ctx context.Context, patience time.Duration) bool {
	select {
	case got := <-k.asked:
		return k.granted(got)
	default:
	}
	again := min(max(3*k.patience, (tenure+2*k.took)*time.Duration(1+k.above)), 5*k.patience)
	for pause := patience; pause > 0; pause = again {
		timer := time.NewTimer(pause)
		select {
		case got := <-k.asked:
			timer.Stop()
			return k.granted(got)
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-timer.C:
		}
		holder, err := k.holderNow(ctx)
		if err != nil || k.seen != nil && holder == *k.seen {
			return false
		}
		k.seen = &holder
	}
	return false
}

// holderNow asks ZooKeeper for the lock's holder, and waits no longer than the patience for the answer.
func (k *keeper) holderNow(ctx context.Context) (operation.Token, error) {
	ctx, cancel := context.WithTimeout(ctx, k.patience)
	defer cancel()
	return k.holder(ctx)
}

// granted records the outcome of the acquisition, and reports whether the lock is held.
func (k *keeper) granted(got acquired) bool {
	k.stop()
	from := k.asked
	k.asked = nil
	if got.err != nil {
		return false
	}
	k.kept, k.from, k.since, k.used, k.seen = &got.lock, from, got.at, false, nil
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
	over := k.kept != nil && time.Since(k.since) >= tenure
	if useless || (!more || over) && !k.spare(ctx) {
		k.release(ctx)
	}
	<-k.turn
}

// spare reports whether the lock is held and no other process waits for it. When one comes, the lock is released, as
// soon as no group uses it, and its tenure is over or there is no more work.
func (k *keeper) spare(ctx context.Context) bool {
	if k.kept == nil || k.kept.Wanted == nil {
		return false
	}
	if k.wanted == nil {
		wanted, lock := new(atomic.Bool), *k.kept
		k.wanted = wanted
		go func() { // ends with the lock
			if ctx := context.WithoutCancel(ctx); lock.Wanted(ctx) == nil {
				wanted.Store(true)
				k.turn <- struct{}{}
				if k.wanted == wanted { // not a later lock
					k.done(ctx, k.busy, false)
				} else {
					<-k.turn
				}
			}
		}()
	}
	return !k.wanted.Load()
}

// idle is done without more work, unless a group uses the lock.
func (k *keeper) idle(ctx context.Context) {
	select {
	case k.turn <- struct{}{}:
		k.done(ctx, false, false)
	default:
	}
}

// endTenure waits, in the background, for the end of the tenure of the lock that the acquisition granted. Then it
// begins another if a group had the lock in this one and no other process waits. Otherwise it releases the lock, once
// no group uses it; also one that was granted when nobody here waited any more.
func (k *keeper) endTenure(ctx context.Context, from chan acquired) {
	ctx = context.WithoutCancel(ctx)
	time.AfterFunc(tenure, func() {
		k.turn <- struct{}{}
		switch {
		case from != k.asked && from != k.from: // that lock is released
		case k.kept != nil && k.used && k.spare(ctx):
			k.since, k.used = time.Now(), false
			k.endTenure(ctx, from)
		default:
			k.release(ctx)
		}
		<-k.turn
	})
}

// release releases the lock, or leaves the queue for it. It does so in the background: if ZooKeeper does not answer,
// the next group has its patience for that, too.
func (k *keeper) release(ctx context.Context) {
	asked, kept := k.asked, k.kept
	if asked == nil && kept == nil {
		return
	}
	if asked != nil {
		k.stop()
	}
	released := make(chan struct{})
	k.asked, k.from, k.kept, k.wanted, k.released = nil, nil, nil, nil, released
	go func() {
		defer close(released)
		if asked != nil {
			if got := <-asked; got.err == nil {
				kept = &got.lock
			}
		}
		if kept != nil {
			k.locker.release(ctx, []Lock{*kept})
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
