package coordination

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// IDOptions change how KeepIDs makes ids. The zero value of a field means its default.
type IDOptions struct {
	Reserve time.Duration    // default 10 s
	Numbers int              // default 1024; only the node numbers below it are used
	Now     func() time.Time // the wall clock; default time.Now
}

// KeepIDs is Session.LeaseIDs with a number below root, in the connection.
func KeepIDs(ctx context.Context, conn *zk.Conn, root string, o IDOptions) *IDs {
	i := &IDs{
		reserve: cmp.Or(o.Reserve, 10*time.Second), numbers: cmp.Or(o.Numbers, numbers), now: o.Now,
		log: slog.New(slog.DiscardHandler), wake: make(chan struct{}, 1),
	}
	if i.now == nil {
		i.now = time.Now
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var keeping sync.WaitGroup
	keeping.Go(func() { i.keep(ctx, newRegistry(conn, root, zk.WorldACL(zk.PermAll))) })
	i.stop = func() {
		cancel()
		keeping.Wait()
	}
	return i
}

// What a test calls in a session that it breaks, without the background.
var (
	Announce    = announce
	Watch       = watch
	Reachable   = reachable
	ErrUnproved = errUnproved
)

// Secure is put before the announced address of a replica that speaks HTTPS.
const Secure = secure
