package zklock

import (
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/time/rate"
)

// eagerHosts chooses servers as the client library does, but does not always pause for a second
// when it comes to the last server again: with one server that would be a second for each
// reconnect and two for each expired session, in which nobody can have the lock.
type eagerHosts struct {
	zk.HostProvider
	spared *rate.Limiter // of pauses
}

func newEagerHosts() *eagerHosts {
	return &eagerHosts{zk.NewDNSHostProvider(), rate.NewLimiter(rate.Every(5*time.Second), 3)}
}

// Next returns the next server, and whether to pause before it is dialled.
func (h *eagerHosts) Next() (server string, pause bool) {
	server, pause = h.HostProvider.Next()
	return server, pause && !h.spared.Allow()
}
