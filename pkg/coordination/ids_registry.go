package coordination

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/bwmarrin/snowflake"
	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zkclient"
)

// errLost means that the number is no longer this process's.
var errLost = errors.New("lease lost")

// lease is a number that this process holds.
type lease struct {
	number int
	node   *snowflake.Node
	wall   int64     // the wall clock when node was made, in milliseconds
	since  time.Time // the same moment by the monotonic clock, which node runs by

	// Guarded by the mutex of the IDs.
	mark    int64 // ids up to this time may be given, in milliseconds
	version int32 // of the mark's node
	last    int64 // time of the last id given
}

// clock returns the time that the next id would carry, in milliseconds.
func (l *lease) clock() int64 {
	return l.wall + time.Since(l.since).Milliseconds()
}

// drift returns how far the wall clock was set, forward (positive) or back, since
// the lease was taken; 0 within clockTolerance.
func (l *lease) drift(now func() time.Time) time.Duration {
	earliest := l.clock()
	wall := now().UnixMilli()
	latest := l.clock() // the goroutine may not have run for a while between the readings
	off := time.Duration(wall-min(max(wall, earliest), latest)) * time.Millisecond
	if off.Abs() <= clockTolerance {
		return 0
	}
	return off
}

// registry keeps the claims (ephemeral nodes) and marks (persistent nodes) of the
// node numbers in ZooKeeper.
type registry struct {
	conn   *zk.Conn
	root   string
	acl    []zk.ACL
	holder string // unique to these IDs
}

func newRegistry(conn *zk.Conn, root string, acl []zk.ACL) registry {
	return registry{conn: conn, root: path.Clean(root), acl: acl, holder: rand.Text()}
}

func (r registry) mkdir(dir string) error {
	_, err := r.conn.Create(dir, nil, zk.FlagPersistent, r.acl)
	return err
}

func (r registry) claim(number int) string { return fmt.Sprintf("%s/claims/%04d", r.root, number) }
func (r registry) mark(number int) string  { return fmt.Sprintf("%s/marks/%04d", r.root, number) }
func (r registry) value(mark int64) []byte {
	return []byte(strconv.FormatInt(mark, 10) + " " + r.holder)
}

// take leases a free number, starting at a random one.
func (r registry) take(
	ctx context.Context, numbers int, reserve time.Duration, now func() time.Time,
) (*lease, error) {
	taken, err := zkclient.Call(ctx, func() (map[string]bool, error) { return r.claims() })
	if err != nil {
		return nil, err
	}
	free := ErrNoNumber
	first := mathrand.IntN(numbers)
	for i := range numbers {
		number := (first + i) % numbers
		if taken[path.Base(r.claim(number))] {
			continue
		}
		l, err := zkclient.Call(ctx, func() (*lease, error) { return r.takeNumber(number, reserve, now) })
		switch {
		case err == nil:
			return l, nil
		case errors.Is(err, ErrClockBack):
			free = err
		case !errors.Is(err, errLost):
			return nil, err
		}
	}
	return nil, free
}

// claims returns the numbers in use, and creates the parents if they are missing. It removes a claim of these IDs
// left behind by a lost reply.
func (r registry) claims() (map[string]bool, error) {
	names, _, err := r.conn.Children(r.root + "/claims")
	if errors.Is(err, zk.ErrNoNode) {
		for _, dir := range []string{"/claims", "/marks"} {
			if err := zkclient.MakePath(r.root+dir, r.mkdir); err != nil {
				return nil, err
			}
		}
		names, _, err = r.conn.Children(r.root + "/claims")
	}
	if err != nil {
		return nil, fmt.Errorf("list node numbers: %w", err)
	}
	taken := make(map[string]bool, len(names))
	for _, name := range names {
		taken[name] = true
		claim := r.root + "/claims/" + name
		holder, stat, err := r.conn.Get(claim)
		if err == nil && string(holder) == r.holder && stat.EphemeralOwner == r.conn.SessionID() {
			if err := r.conn.Delete(claim, stat.Version); err == nil {
				delete(taken, name)
			}
		}
	}
	return taken, nil
}

// takeNumber claims the number and moves its mark, in one transaction. errLost means
// that another process was faster, ErrClockBack that the mark is ahead of the clock.
func (r registry) takeNumber(number int, reserve time.Duration, now func() time.Time) (*lease, error) {
	data, stat, err := r.conn.Get(r.mark(number))
	if errors.Is(err, zk.ErrNoNode) {
		_, err = r.conn.Create(r.mark(number), []byte("0"), 0, r.acl)
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return nil, fmt.Errorf("make mark of node number %d: %w", number, err)
		}
		data, stat, err = r.conn.Get(r.mark(number))
	}
	if err != nil {
		return nil, fmt.Errorf("read mark of node number %d: %w", number, err)
	}
	field, _, _ := strings.Cut(string(data), " ")
	used, err := strconv.ParseInt(field, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("read mark of node number %d: %w", number, err)
	}
	l := &lease{number: number, last: used}
	l.wall, l.since = readClocks(now)
	if ahead := used - l.clock(); ahead >= 0 {
		return nil, fmt.Errorf("%w: ids of node number %d may reach %d ms ahead", ErrClockBack, number, ahead)
	}
	if l.node, err = snowflake.NewNode(int64(number)); err != nil {
		return nil, fmt.Errorf("make snowflake node: %w", err)
	}
	l.mark = l.clock() + reserve.Milliseconds()
	done, err := r.conn.Multi(
		&zk.CreateRequest{
			Path: r.claim(number), Data: []byte(r.holder), Acl: r.acl, Flags: zk.FlagEphemeral,
		},
		&zk.SetDataRequest{Path: r.mark(number), Data: r.value(l.mark), Version: stat.Version},
	)
	switch {
	case errors.Is(err, zk.ErrNodeExists), errors.Is(err, zk.ErrBadVersion):
		return nil, errLost
	case err != nil:
		return nil, fmt.Errorf("claim node number %d: %w", number, err)
	}
	l.version = done[1].Stat.Version
	return l, nil
}

// readClocks reads the wall clock and the monotonic one for the same moment.
func readClocks(now func() time.Time) (wall int64, since time.Time) {
	for {
		since = time.Now()
		wall = now().UnixMilli()
		if time.Since(since) < clockTolerance/10 {
			return wall, since
		}
	}
}

// move writes the new mark if the number is still this process's, and claims it again if the claim has ended with its
// session: another number would leave this one unused up to its mark.
func (r registry) move(ctx context.Context, l *lease, mark int64) (version int32, err error) {
	return zkclient.Call(ctx, func() (int32, error) {
		done, err := r.conn.Multi(
			&zk.CheckVersionRequest{Path: r.claim(l.number), Version: -1},
			&zk.SetDataRequest{Path: r.mark(l.number), Data: r.value(mark), Version: l.version},
		)
		if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrBadVersion) {
			done, err = r.claimAgain(l, mark)
		}
		if err != nil {
			return 0, fmt.Errorf("move mark of node number %d: %w", l.number, err)
		}
		return done[1].Stat.Version, nil
	})
}

// claimAgain is a move for a claim that is gone, or a mark that has another version. While the mark has these IDs as
// its writer, for example by a write whose answer was lost, nobody else has the number; otherwise the error is errLost.
func (r registry) claimAgain(l *lease, mark int64) ([]zk.MultiResponse, error) {
	data, stat, err := r.conn.Get(r.mark(l.number))
	_, writer, _ := strings.Cut(string(data), " ")
	switch {
	case errors.Is(err, zk.ErrNoNode), err == nil && writer != r.holder:
		return nil, errLost
	case err != nil:
		return nil, err
	}
	var claim any = &zk.CreateRequest{
		Path: r.claim(l.number), Data: []byte(r.holder), Acl: r.acl, Flags: zk.FlagEphemeral,
	}
	_, claimed, err := r.conn.Get(r.claim(l.number))
	switch {
	case err == nil && claimed.EphemeralOwner == r.conn.SessionID():
		claim = &zk.CheckVersionRequest{Path: r.claim(l.number), Version: claimed.Version}
	case err == nil: // it ends with an earlier session
		return nil, fmt.Errorf("claim node number %d: %w", l.number, zk.ErrNodeExists)
	case !errors.Is(err, zk.ErrNoNode):
		return nil, err
	}
	return r.conn.Multi(claim, &zk.SetDataRequest{Path: r.mark(l.number), Data: r.value(mark), Version: stat.Version})
}

// release moves the mark back to the last id given and removes the claim.
func (r registry) release(ctx context.Context, l *lease) error {
	_, err := zkclient.Call(ctx, func() (struct{}, error) {
		_, err := r.conn.Multi(
			&zk.SetDataRequest{Path: r.mark(l.number), Data: r.value(l.last), Version: l.version},
			&zk.DeleteRequest{Path: r.claim(l.number), Version: -1},
		)
		if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrBadVersion) {
			err = nil // the number is another process's already
		}
		return struct{}{}, err
	})
	if err != nil {
		return fmt.Errorf("give node number %d back: %w", l.number, err)
	}
	return nil
}
