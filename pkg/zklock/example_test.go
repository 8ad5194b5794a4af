package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock"
)

// exampleSession returns a session, a path in ZooKeeper to work below, and a function that ends both.
func exampleSession() (ctx context.Context, session *zklock.Session, root string, end func()) {
	ctx = context.Background()
	addr, err := shared()
	if err != nil {
		panic(err)
	}
	root, remove, err := makeRoot(addr)
	if err != nil {
		panic(err)
	}
	session, err = zklock.Connect(ctx, []string{addr})
	if err != nil {
		panic(err)
	}
	return ctx, session, root, func() {
		if err := errors.Join(session.Close(), remove()); err != nil {
			panic(err)
		}
	}
}

func Example() {
	ctx, session, root, end := exampleSession()
	defer end()

	mutex := zklock.NewMutex(session, root+"/stock", zklock.WithLabel("example"))

	timed, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	lock, err := mutex.Acquire(timed)
	if errors.Is(err, zklock.ErrNotAcquired) {
		fmt.Println("somebody else has it")
		return
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	// Work under lock.Context(), and send lock.Token() with each write.
	fmt.Println("token:", !lock.Token().IsZero(), "lost:", lock.Context().Err() != nil)

	if err := lock.Release(ctx); err != nil {
		fmt.Println(err)
	}
	fmt.Println(context.Cause(lock.Context()))
	// Output:
	// token: true lost: false
	// zklock: lock released
}

func ExampleMutex_TryAcquire() {
	ctx, session, root, end := exampleSession()
	defer end()

	mutex := zklock.NewMutex(session, root+"/stock")
	lock, err := mutex.TryAcquire(ctx)
	fmt.Println(err)
	_, err = mutex.TryAcquire(ctx)
	fmt.Println(errors.Is(err, zklock.ErrNotAcquired))
	fmt.Println(lock.Release(ctx))
	// Output:
	// <nil>
	// true
	// <nil>
}

// A store that remembers the greatest token refuses a holder that was paused past its session.
func ExampleToken() {
	ctx, session, root, end := exampleSession()
	defer end()

	var greatest zklock.Token // beside the data, and changed with it: in SQL by one statement, see Token.Value
	write := func(token zklock.Token) bool {
		if token.Less(greatest) {
			return false
		}
		greatest = token
		return true
	}
	mutex := zklock.NewMutex(session, root+"/stock")
	for range 2 {
		lock, err := mutex.Acquire(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(write(lock.Token()))
		defer func() { fmt.Println(write(lock.Token())) }() // late: only the newer one may
		_ = lock.Release(ctx)
	}
	// Output:
	// true
	// true
	// true
	// false
}

func ExampleReentrantMutex() {
	ctx, session, root, end := exampleSession()
	defer end()

	mutex := zklock.NewReentrantMutex(session, root+"/stock")
	ctx = zklock.WithOwner(ctx) // where the operation begins
	outer, err := mutex.Acquire(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	inner, err := mutex.Acquire(ctx) // deeper down, with the same context
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(inner.Token() == outer.Token())
	fmt.Println(inner.Release(ctx), outer.Release(ctx))
	// Output:
	// true
	// <nil> <nil>
}

func ExampleRWMutex() {
	ctx, session, root, end := exampleSession()
	defer end()

	prices := zklock.NewRWMutex(session, root+"/prices")
	one, err := prices.Reader().Acquire(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	another, err := prices.Reader().Acquire(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = prices.Writer().TryAcquire(ctx)
	fmt.Println(errors.Is(err, zklock.ErrNotAcquired))
	fmt.Println(one.Release(ctx), another.Release(ctx))
	// Output:
	// true
	// <nil> <nil>
}

func ExampleSemaphore() {
	ctx, session, root, end := exampleSession()
	defer end()

	exports := zklock.NewSemaphore(session, root+"/exports", 2)
	first, err := exports.Acquire(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	second, err := exports.Acquire(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = exports.TryAcquire(ctx)
	fmt.Println(errors.Is(err, zklock.ErrNotAcquired))
	fmt.Println(first.Release(ctx), second.Release(ctx))
	// Output:
	// true
	// <nil> <nil>
}

func ExampleMulti() {
	ctx, session, root, end := exampleSession()
	defer end()

	goods := zklock.NewMulti(
		zklock.NewMutex(session, root+"/goods/1002"),
		zklock.NewMutex(session, root+"/goods/1001"),
		zklock.NewMutex(session, root+"/goods/1002"),
	)
	lock, err := goods.Acquire(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, l := range lock.Locks() {
		fmt.Println(l.Path()[len(root):])
	}
	fmt.Println(lock.Release(ctx))
	// Output:
	// /goods/1001
	// /goods/1002
	// <nil>
}

func ExampleInspect() {
	ctx, session, root, end := exampleSession()
	defer end()

	lock, err := zklock.NewMutex(session, root+"/stock", zklock.WithLabel("stocktaking")).Acquire(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	status, err := zklock.Inspect(ctx, session, root+"/stock")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(status.Holders[0].Owner.Label, len(status.Waiters))
	fmt.Println(lock.Release(ctx))
	// Output:
	// stocktaking 0
	// <nil>
}

// One ZooKeeper transaction checks that the lock is held, and does the work.
func ExampleLock_Guard() {
	ctx, session, root, end := exampleSession()
	defer end()

	config := root + "/config"
	if _, err := session.Conn().Create(config, nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		fmt.Println(err)
		return
	}
	err := zklock.Do(ctx, zklock.NewMutex(session, root+"/lock"), func(_ context.Context, lock *zklock.Lock) error {
		_, err := session.Conn().Multi(append(lock.Guard(),
			&zk.SetDataRequest{Path: config, Data: []byte("new"), Version: -1})...)
		return err
	})
	fmt.Println(err)
	// Output: <nil>
}

func ExampleDo() {
	ctx, session, root, end := exampleSession()
	defer end()

	err := zklock.Do(ctx, zklock.NewMutex(session, root+"/stock"), func(ctx context.Context, lock *zklock.Lock) error {
		fmt.Println("held:", ctx.Err() == nil, lock.Valid()) // work under ctx
		return nil
	})
	fmt.Println(err)
	// Output:
	// held: true true
	// <nil>
}
