package zklock_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/go-zookeeper/zk"

	"orderstock/pkg/servers/serverstest"
	"orderstock/pkg/zklock"
)

// exampleSession returns a session, a path in ZooKeeper to work below, and a function that ends both.
func exampleSession() (ctx context.Context, session *zklock.Session, root string, end func()) {
	e, end := serverstest.Example()
	return e.Context(), connect(e), serverstest.ZooKeeperRoot(e), end
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

// One statement checks the token, does the work and remembers the token.
func ExampleToken_Value() {
	e, end := serverstest.Example()
	defer end()
	ctx, session, root := e.Context(), connect(e), serverstest.ZooKeeperRoot(e)
	db, err := sql.Open("mysql", serverstest.Database(e))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = db.Close() }() // only read from by then
	for _, statement := range []string{
		"CREATE TABLE stock (goods_id BIGINT PRIMARY KEY, num BIGINT NOT NULL, fencing_token BINARY(16) NOT NULL)",
		"INSERT INTO stock VALUES (1001, 10, REPEAT('\\0', 16))",
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			fmt.Println(err)
			return
		}
	}
	deduct := func(token zklock.Token) {
		result, err := db.ExecContext(ctx,
			"UPDATE stock SET num = num - 1, fencing_token = ? WHERE goods_id = 1001 AND num >= 1 AND fencing_token <= ?",
			token, token)
		if err != nil {
			fmt.Println(err)
			return
		}
		rows, err := result.RowsAffected()
		fmt.Println(rows, err)
	}

	mutex := zklock.NewMutex(session, root+"/stock")
	first, err := mutex.Acquire(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	deduct(first.Token())
	_ = first.Release(ctx) // or it is lost while its holder is paused
	second, err := mutex.Acquire(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	deduct(second.Token())
	deduct(first.Token()) // refused
	_ = second.Release(ctx)

	var num int
	var token zklock.Token
	err = db.QueryRowContext(ctx, "SELECT num, fencing_token FROM stock").Scan(&num, &token)
	fmt.Println(num, token == second.Token(), err)
	// Output:
	// 1 <nil>
	// 1 <nil>
	// 0 <nil>
	// 8 true <nil>
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
	one, err := prices.RLock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	another, err := prices.RLock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = prices.TryLock(ctx)
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

func ExampleElection() {
	ctx, session, root, end := exampleSession()
	defer end()

	election := zklock.NewElection(session, root+"/reports")
	leadership, err := election.Campaign(ctx, "10.0.0.7:8080")
	if err != nil {
		fmt.Println(err)
		return
	}
	// Lead until leadership.Context() ends. Any session may read the leader:
	for leader, err := range election.Observe(ctx) {
		fmt.Println(leader.Owner.Value, leader.Token == leadership.Token(), err)
		break
	}
	fmt.Println(leadership.Resign(ctx))
	// Output:
	// 10.0.0.7:8080 true <nil>
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

func ExampleRWMutex_Downgrade() {
	ctx, session, root, end := exampleSession()
	defer end()

	prices := zklock.NewRWMutex(session, root+"/prices")
	writer, err := prices.Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	reader, err := prices.Downgrade(ctx, writer) // nobody writes between the two
	if err != nil {
		fmt.Println(err)
		return
	}
	another, err := prices.TryRLock(ctx)
	fmt.Println(err)
	fmt.Println(another.Release(ctx), reader.Release(ctx))
	// Output:
	// <nil>
	// <nil> <nil>
}
