package coordination

import (
	"context"
	"sync/atomic"
	"time"

	"orderstock/pkg/snowid"
	"orderstock/pkg/zklock"
)

// IDs makes ids that are unique among all replicas, once it has leased a node number for them.
type IDs struct {
	stop      func()
	generator atomic.Pointer[snowid.Generator]
}

// closeLimit bounds the calls that give a number or the lead back. If ZooKeeper does not answer, both end with the
// session.
const closeLimit = 5 * time.Second

// reserve is how long ids go on without ZooKeeper. The number of a process that was killed, or whose session or
// clock was lost, stays unused for as long: 1,024 of those within it leave none.
const reserve = 4 * time.Hour

// LeaseIDs begins to lease a node number below the node name. Callers must Close the IDs before the session.
func (s *Session) LeaseIDs(ctx context.Context, name string) *IDs {
	i := &IDs{}
	i.stop = s.begin(ctx, func(ctx context.Context, session *zklock.Session) {
		g, err := snowid.Lease(ctx, session.Conn(), s.cfg.Root+"/"+name, snowid.WithACL(session.ACL()),
			snowid.WithReserve(reserve))
		if err != nil {
			if ctx.Err() == nil {
				s.cfg.Log.Error("no node number for ids", "error", err.Error())
			}
			return
		}
		number, _ := g.Number()
		s.cfg.Log.Info("ids leased", "node", number)
		i.generator.Store(g)
	})
	return i
}

// Next returns an id, or the error of snowid.Generator's Next.
func (i *IDs) Next() (int64, error) {
	if g := i.generator.Load(); g != nil {
		return g.Next()
	}
	return 0, snowid.ErrNoLease
}

// Ready returns nil while Next would return an id.
func (i *IDs) Ready(context.Context) error {
	if g := i.generator.Load(); g != nil {
		return g.Ready()
	}
	return snowid.ErrNoLease
}

// Close gives the number back, so that another process can lease it at once. Next fails from then on.
func (i *IDs) Close(ctx context.Context) error {
	i.stop()
	g := i.generator.Load()
	if g == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, closeLimit)
	defer cancel()
	return g.Close(ctx)
}
