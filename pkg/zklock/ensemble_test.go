package zklock_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock"
)

// dialCounter counts the connections that servers have accepted.
type dialCounter struct{ made atomic.Int32 }

func (d *dialCounter) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout(network, address, timeout)
	if err == nil {
		d.made.Add(1)
	}
	return conn, err
}

// await waits until servers have accepted n more connections.
func (d *dialCounter) await(t *testing.T, n int32) {
	t.Helper()
	want := d.made.Load() + n
	eventually(t, "further connections", func() bool { return d.made.Load() >= want })
}

// A server without a quorum refuses its clients, as one that has lost its data does. When the quorum is back, the
// leader goes on with all sessions, and with their nodes: those of locks that count as lost must not be in the way for
// another session timeout. The owner of a wrapped connection keeps the session.
// It takes 30 s: the quorum is away for longer than a session timeout.
func TestQuorumIsLostForLongerThanASession(t *testing.T) {
	t.Parallel()
	const timeout = 10 * time.Second
	const handshakes = 8 // refused ones, after which a client takes the servers to have lost their data
	servers, addrs := startEnsemble(t, "-Xmx192m")
	join := func() (*zklock.Session, *dialCounter) {
		d := &dialCounter{}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		s, err := zklock.Connect(ctx, addrs, zklock.WithSessionTimeout(timeout), zklock.WithDialer(d.dial))
		must(t, err)
		t.Cleanup(func() { closeSession(t, s) })
		return s, d
	}
	holder, holders := join()
	other, others := join()
	owners := &dialCounter{}
	wrapped, conn := wrapDialled(t, owners.dial, addrs...)
	must(t, errorOf(conn.Create("/owner", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))))
	id := conn.SessionID()

	lock := acquire(t, zklock.NewMutex(holder, "/lock", zklock.WithHandoff(1, 0)))
	theirs := acquire(t, zklock.NewMutex(wrapped, "/theirs", zklock.WithHandoff(1, 0)))
	waiting := begin(t.Context(), zklock.NewMutex(other, "/lock", zklock.WithHandoff(1, 0)))
	awaitChildren(t, other.Conn(), "/lock", 2)
	down := servers[:2]
	for _, s := range down {
		s.kill()
	}
	await(t, lock.Context().Done(), "the loss of the lock")
	await(t, theirs.Context().Done(), "the loss of the wrapped connection's lock")
	for _, d := range []*dialCounter{holders, others, owners} {
		d.await(t, handshakes)
	}
	for _, s := range down {
		must(t, s.launch())
	}
	for _, s := range down {
		must(t, s.awaitReady())
	}
	began := time.Now()
	release(t, waiting.wait(t))
	if d := time.Since(began); d > timeout/2 {
		t.Errorf("acquired %s after the quorum was back, the session timeout is %s", d, timeout)
	}
	wantErr(t, lock.Release(t.Context()), zklock.ErrLost, "release of the lost lock")

	release(t, acquire(t, zklock.NewMutex(wrapped, "/theirs", zklock.WithHandoff(1, 0))))
	if d := time.Since(began); d > timeout/2 {
		t.Errorf("the wrapped connection's lock was free %s after the quorum was back", d)
	}
	there, _, err := conn.Exists("/owner")
	must(t, err)
	if now := conn.SessionID(); !there || now != id {
		t.Errorf("the wrapped connection's session is %#x, before %#x; its owner's node is there: %v", now, id, there)
	}
}
