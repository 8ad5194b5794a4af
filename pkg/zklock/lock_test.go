package zklock_test

import (
	"context"
	"errors"
	"path"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock"
)

func TestValidFor(t *testing.T) {
	t.Parallel()
	s, l := dialLink(t, zklock.WithSessionTimeout(6*time.Second))
	for _, m := range kindsOfMutex(s, newRoot(t)+"/lock") {
		lock := acquire(t, m)
		if d := lock.ValidFor(); d <= 0 || d > s.Timeout() || !lock.Valid() {
			t.Errorf("valid for %v of %v", d, s.Timeout())
		}
		release(t, lock)
		if d := lock.ValidFor(); d != 0 || lock.Valid() {
			t.Errorf("valid for %v after its release", d)
		}
	}
	lock := acquire(t, zklock.NewMutex(s, newRoot(t)+"/lock"))
	l.silence()
	began, told := time.Now(), lock.ValidFor()
	await(t, lock.Context().Done(), "the loss of the lock")
	if d := time.Since(began); d < told-50*time.Millisecond || d > told+patience/2 {
		t.Errorf("valid for %v, was told %v", d, told)
	}
	if lock.Valid() {
		t.Error("valid after its loss")
	}
	l.restore()
}

// A transaction with the lock's guard is carried out for the present holder only.
func TestGuard(t *testing.T) {
	dir := newRoot(t)
	s, other := connect(t), connect(t)
	must(t, errorOf(s.Conn().Create(dir+"/data", nil, 0, zk.WorldACL(zk.PermAll))))
	write := func(lock *zklock.Lock, data string) error {
		_, err := other.Conn().Multi(append(lock.Guard(),
			&zk.SetDataRequest{Path: dir + "/data", Data: []byte(data), Version: -1})...)
		return err
	}
	for name, m := range map[string]zklock.Locker{
		"hand-off":    zklock.NewMutex(s, dir+"/handoff"),
		"no hand-off": zklock.NewMutex(s, dir+"/plain", zklock.WithHandoff(1, 0)),
		"writer":      zklock.NewRWMutex(s, dir+"/rw").Writer(),
	} {
		t.Run(name, func(t *testing.T) {
			lock := acquire(t, m)
			if err := write(lock, name); err != nil {
				t.Errorf("a holder's write: %v", err)
			}
			node := path.Join(m.Path(), awaitChildren(t, other.Conn(), m.Path(), 1)[0])
			must(t, other.Conn().Delete(node, -1))
			wantErr(t, write(lock, "late"), zk.ErrNoNode, "a write after the loss")
			if data, _, err := other.Conn().Get(dir + "/data"); err != nil || string(data) != name {
				t.Errorf("data %q, %v", data, err)
			}
			await(t, lock.Context().Done(), "the loss of the lock")
		})
	}
}

func TestDoRefusesNil(t *testing.T) {
	s := connect(t)
	m := zklock.NewMutex(s, newRoot(t)+"/lock")
	if err := zklock.Do(t.Context(), m, nil); err == nil {
		t.Error("Do accepts no function")
	}
	ran := false
	run := func(context.Context, *zklock.Lock) error { ran = true; return nil }
	if err := zklock.Do(t.Context(), nil, run); err == nil || ran {
		t.Error("Do accepts no lock")
	}
	if exists, _, err := s.Conn().Exists(m.Path()); exists || err != nil {
		t.Errorf("a refused Do made the lock's path: %v", err)
	}
}

func TestDo(t *testing.T) {
	type key struct{}
	s, l := dialLink(t)
	m := zklock.NewMutex(s, newRoot(t)+"/lock", zklock.WithHandoff(1, 0))
	failed := errors.New("the work failed")
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
	err := zklock.Do(ctx, m, func(ctx context.Context, lock *zklock.Lock) error {
		if _, err := m.TryAcquire(ctx); !errors.Is(err, zklock.ErrNotAcquired) || !lock.Valid() {
			t.Errorf("try of the lock that is held: %v", err)
		}
		if ctx.Value(key{}) != "value" || ctx.Err() != nil {
			t.Errorf("value %v, error %v", ctx.Value(key{}), ctx.Err())
		}
		cancel()
		await(t, ctx.Done(), "the end of the context")
		return failed
	})
	if !errors.Is(err, failed) || errors.Is(err, zklock.ErrLost) {
		t.Errorf("error %v", err)
	}
	awaitChildren(t, s.Conn(), m.Path(), 0) // released all the same
	err = zklock.Do(ctx, m, func(context.Context, *zklock.Lock) error {
		t.Error("run without the lock")
		return nil
	})
	wantErr(t, err, context.Canceled, "the error")

	err = zklock.Do(t.Context(), m, func(ctx context.Context, _ *zklock.Lock) error {
		l.expire(t)
		await(t, ctx.Done(), "the loss of the lock")
		wantErr(t, context.Cause(ctx), zklock.ErrLost, "the cause")
		return nil
	})
	wantErr(t, err, zklock.ErrLost, "the error")
	func() {
		defer func() {
			if r := recover(); r != "oops" {
				t.Errorf("recovered %v", r)
			}
		}()
		_ = zklock.Do(t.Context(), m, func(context.Context, *zklock.Lock) error { panic("oops") })
	}()
	awaitChildren(t, s.Conn(), m.Path(), 0)
}
