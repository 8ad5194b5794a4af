package snowid

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
)

// Conn is what the package needs of a *zk.Conn.
type Conn interface {
	SessionID() int64
	Children(path string) ([]string, *zk.Stat, error)
	Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error)
	Delete(path string, version int32) error
	Get(path string) ([]byte, *zk.Stat, error)
	Multi(ops ...any) ([]zk.MultiResponse, error)
}

var _ Conn = (*zk.Conn)(nil)

// errLost means that the number is another's, or nobody's, by now.
var errLost = errors.New("lease lost")

// lease is a number that this process holds.
type lease struct {
	number int
	node   *snowflake.Node
	wall   int64     // the wall clock when node was made, in milliseconds
	since  time.Time // the same moment by the monotonic clock, which node runs by

	// Guarded by the generator's mutex.
	mark    int64 // ids up to this time may be given, in milliseconds
	version int32 // of the mark's node
	last    int64 // time of the last id given
}

// clock returns the time that the next id would carry, in milliseconds.
func (l *lease) clock() int64 {
	return l.wall + time.Since(l.since).Milliseconds()
}

// parted returns how far the wall clock was set since the lease was taken: what
// it has gone forth or back beyond the monotonic clock; 0 within clockTolerance.
func (l *lease) parted(now func() time.Time) time.Duration {
	earliest := l.clock()
	wall := now().UnixMilli()
	latest := l.clock() // the goroutine may have waited for its turn between the readings
	off := time.Duration(wall-min(max(wall, earliest), latest)) * time.Millisecond
	if off.Abs() <= clockTolerance {
		return 0
	}
	return off
}

// keeper holds claims (ephemeral) and marks (persistent) in ZooKeeper.
type keeper struct {
	conn   Conn
	root   string
	holder string // told apart from every other generator's
}

func newKeeper(conn Conn, root string) keeper {
	return keeper{conn: conn, root: path.Clean(root), holder: rand.Text()}
}

func (k keeper) claim(number int) string { return fmt.Sprintf("%s/claims/%04d", k.root, number) }
func (k keeper) mark(number int) string  { return fmt.Sprintf("%s/marks/%04d", k.root, number) }
func (k keeper) value(mark int64) []byte {
	return []byte(strconv.FormatInt(mark, 10) + " " + k.holder)
}

// take leases a free number, beginning anywhere.
func (k keeper) take(ctx context.Context, o options) (*lease, error) {
	taken, err := await(ctx, func() (map[string]bool, error) { return k.claims() })
	if err != nil {
		return nil, err
	}
	free := ErrNoNumber
	first := mathrand.IntN(o.numbers)
	for i := range o.numbers {
		number := (first + i) % o.numbers
		if taken[path.Base(k.claim(number))] {
			continue
		}
		l, err := await(ctx, func() (*lease, error) { return k.takeNumber(number, o) })
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

// claims returns the numbers in use, and makes the folders where they are missing.
// A claim of this very generator is what a lost reply left behind: it is taken back.
func (k keeper) claims() (map[string]bool, error) {
	names, _, err := k.conn.Children(k.root + "/claims")
	if errors.Is(err, zk.ErrNoNode) {
		if err := errors.Join(k.mkdir(k.root+"/claims"), k.mkdir(k.root+"/marks")); err != nil {
			return nil, err
		}
		names, _, err = k.conn.Children(k.root + "/claims")
	}
	if err != nil {
		return nil, fmt.Errorf("list node numbers: %w", err)
	}
	taken := make(map[string]bool, len(names))
	for _, name := range names {
		taken[name] = true
		claim := k.root + "/claims/" + name
		holder, stat, err := k.conn.Get(claim)
		if err == nil && string(holder) == k.holder && stat.EphemeralOwner == k.conn.SessionID() {
			if err := k.conn.Delete(claim, stat.Version); err == nil {
				delete(taken, name)
			}
		}
	}
	return taken, nil
}

// takeNumber claims the number and moves its mark, in one step. errLost means
// that somebody else was faster, ErrClockBack that the mark lies ahead of the clock.
func (k keeper) takeNumber(number int, o options) (*lease, error) {
	data, stat, err := k.conn.Get(k.mark(number))
	if errors.Is(err, zk.ErrNoNode) {
		_, err = k.conn.Create(k.mark(number), []byte("0"), 0, zk.WorldACL(zk.PermAll))
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return nil, fmt.Errorf("make mark of node number %d: %w", number, err)
		}
		data, stat, err = k.conn.Get(k.mark(number))
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
	l.wall, l.since = readClocks(o.now)
	if ahead := used - l.clock(); ahead >= 0 {
		return nil, fmt.Errorf("%w: ids of node number %d may reach %d ms ahead", ErrClockBack, number, ahead)
	}
	if l.node, err = snowflake.NewNode(int64(number)); err != nil {
		return nil, fmt.Errorf("make snowflake node: %w", err)
	}
	l.mark = l.clock() + o.reserve.Milliseconds()
	done, err := k.conn.Multi(
		&zk.CreateRequest{Path: k.claim(number), Data: []byte(k.holder), Acl: zk.WorldACL(zk.PermAll), Flags: zk.FlagEphemeral},
		&zk.SetDataRequest{Path: k.mark(number), Data: k.value(l.mark), Version: stat.Version},
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

// readClocks reads the wall clock and the monotonic one as of the same moment.
func readClocks(now func() time.Time) (wall int64, since time.Time) {
	for {
		since = time.Now()
		wall = now().UnixMilli()
		if time.Since(since) < clockTolerance/10 {
			return wall, since
		}
	}
}

// move writes the new mark if the number is still this generator's.
func (k keeper) move(ctx context.Context, l *lease, mark int64) (version int32, err error) {
	return await(ctx, func() (int32, error) {
		done, err := k.conn.Multi(
			&zk.CheckVersionRequest{Path: k.claim(l.number), Version: -1},
			&zk.SetDataRequest{Path: k.mark(l.number), Data: k.value(mark), Version: l.version},
		)
		switch {
		case err == nil:
			return done[1].Stat.Version, nil
		case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrBadVersion), errors.Is(err, zk.ErrSessionExpired):
			// Also where an earlier write landed and its reply was lost: leasing anew is right then, too.
			return 0, fmt.Errorf("%w: %w", errLost, err)
		}
		return 0, fmt.Errorf("move mark of node number %d: %w", l.number, err)
	})
}

// release brings the mark back to the last id given and drops the claim.
func (k keeper) release(ctx context.Context, l *lease) error {
	_, err := await(ctx, func() (struct{}, error) {
		_, err := k.conn.Multi(
			&zk.SetDataRequest{Path: k.mark(l.number), Data: k.value(l.last), Version: l.version},
			&zk.DeleteRequest{Path: k.claim(l.number), Version: -1},
		)
		if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrBadVersion) {
			err = nil // it is another's already
		}
		return struct{}{}, err
	})
	if err != nil {
		return fmt.Errorf("give node number %d back: %w", l.number, err)
	}
	return nil
}

func (k keeper) mkdir(dir string) error {
	for i := 1; i <= len(dir); i++ {
		if i < len(dir) && dir[i] != '/' {
			continue
		}
		if _, err := k.conn.Create(dir[:i], nil, 0, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return fmt.Errorf("make %s: %w", dir[:i], err)
		}
	}
	return nil
}

// await gives the client's calls, which know no context, one: it returns when
// ctx ends, and the call ends with its connection at the latest.
func await[T any](ctx context.Context, call func() (T, error)) (T, error) {
	type answer struct {
		out T
		err error
	}
	answered := make(chan answer, 1)
	go func() {
		out, err := call()
		answered <- answer{out, err}
	}()
	select {
	case a := <-answered:
		return a.out, a.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
