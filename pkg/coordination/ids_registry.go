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

// registry keeps the marks of the node numbers in ZooKeeper: persistent nodes, each with the mark and its writer.
type registry struct {
	conn   *zk.Conn
	root   string
	acl    []zk.ACL
	holder string // unique to these IDs
}

func newRegistry(conn *zk.Conn, root string, acl []zk.ACL) registry {
	return registry{conn: conn, root: path.Clean(root), acl: acl, holder: rand.Text()}
}

// create makes a node with the mark of a number that was never used.
func (r registry) create(node string) error {
	_, err := r.conn.Create(node, []byte("0"), zk.FlagPersistent, r.acl)
	return err
}

func (r registry) mark(number int) string { return fmt.Sprintf("%s/marks/%04d", r.root, number) }
func (r registry) value(mark int64) []byte {
	return []byte(strconv.FormatInt(mark, 10) + " " + r.holder)
}

// take leases a free number, starting at a random one.
func (r registry) take(
	ctx context.Context, numbers int, reserve time.Duration, now func() time.Time,
) (*lease, error) {
	free := ErrNoNumber
	first := mathrand.IntN(numbers)
	for i := range numbers {
		number := (first + i) % numbers
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

// takeNumber moves the mark of the number ahead of the clock. errLost means that another process has the number, or had
// it within the reserve; ErrClockBack that the mark lies further ahead than a process in use would have it.
func (r registry) takeNumber(number int, reserve time.Duration, now func() time.Time) (*lease, error) {
	data, stat, err := r.conn.Get(r.mark(number))
	if errors.Is(err, zk.ErrNoNode) {
		if err = zkclient.MakePath(r.mark(number), r.create); err == nil {
			data, stat, err = r.conn.Get(r.mark(number))
		}
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
	switch ahead := time.Duration(used-l.clock()) * time.Millisecond; {
	case ahead > reserve+clockTolerance:
		return nil, fmt.Errorf("%w: ids of node number %d may reach %s ahead", ErrClockBack, number, ahead)
	case ahead >= 0:
		return nil, errLost
	}
	if l.node, err = snowflake.NewNode(int64(number)); err != nil {
		return nil, fmt.Errorf("make snowflake node: %w", err)
	}
	l.mark = l.clock() + reserve.Milliseconds()
	stat, err = r.conn.Set(r.mark(number), r.value(l.mark), stat.Version)
	switch {
	case errors.Is(err, zk.ErrBadVersion):
		return nil, errLost
	case err != nil:
		return nil, fmt.Errorf("take node number %d: %w", number, err)
	}
	l.version = stat.Version
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

// move writes the new mark if the number is still this process's.
func (r registry) move(ctx context.Context, l *lease, mark int64) (version int32, err error) {
	return zkclient.Call(ctx, func() (int32, error) {
		stat, err := r.conn.Set(r.mark(l.number), r.value(mark), l.version)
		if errors.Is(err, zk.ErrBadVersion) {
			stat, err = r.moveAgain(l, mark)
		}
		switch {
		case errors.Is(err, zk.ErrNoNode):
			return 0, errLost
		case err != nil:
			return 0, fmt.Errorf("move mark of node number %d: %w", l.number, err)
		}
		return stat.Version, nil
	})
}

// moveAgain is a move of a mark that has another version. While the mark has these IDs as its writer, for example by a
// write whose answer was lost, nobody else has the number; otherwise the error is errLost.
func (r registry) moveAgain(l *lease, mark int64) (*zk.Stat, error) {
	data, stat, err := r.conn.Get(r.mark(l.number))
	if err != nil {
		return nil, err
	}
	if _, writer, _ := strings.Cut(string(data), " "); writer != r.holder {
		return nil, errLost
	}
	return r.conn.Set(r.mark(l.number), r.value(mark), stat.Version)
}

// release moves the mark back to the last id given.
func (r registry) release(ctx context.Context, l *lease) error {
	_, err := zkclient.Call(ctx, func() (*zk.Stat, error) {
		return r.conn.Set(r.mark(l.number), r.value(l.last), l.version)
	})
	if err != nil && !errors.Is(err, zk.ErrNoNode) && !errors.Is(err, zk.ErrBadVersion) { // another process's already
		return fmt.Errorf("give node number %d back: %w", l.number, err)
	}
	return nil
}
