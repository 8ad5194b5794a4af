package fire

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrUnreachable is wrapped by the error of a run if no replica of a service accepts connections.
var ErrUnreachable = errors.New("no connection")

// replicas are the replicas of one service, with one connection to each. It is used by one goroutine at a time.
type replicas struct {
	conns []*conn
	turn  int
}

func newReplicas(urls []string, timeout time.Duration, turn int) replicas {
	r := replicas{turn: turn}
	for _, u := range urls {
		r.conns = append(r.conns, newConn(u, timeout))
	}
	return r
}

// do sends q to the replica whose turn it is. If no connection to it can be made, do tries the others,
// because nothing has reached a service yet. It returns the address tried last and how many were tried.
func (r *replicas) do(ctx context.Context, q request) (a answer, address string, attempts int, err error) {
	for range r.conns {
		c := r.conns[r.turn%len(r.conns)]
		r.turn++
		address, attempts = c.base, attempts+1
		if a, err = c.do(ctx, q); !errors.Is(err, errDial) {
			break
		}
	}
	return a, address, attempts, err
}

// reachable returns ErrUnreachable unless a connection to one of the replicas can be made.
func (r *replicas) reachable(ctx context.Context, service string) error {
	var addresses []string
	for _, c := range r.conns {
		err := c.dial(ctx, time.Now().Add(c.timeout))
		if err == nil {
			return nil
		}
		addresses = append(addresses, c.base)
	}
	return fmt.Errorf("%w to the %s at %s", ErrUnreachable, service, strings.Join(addresses, ", "))
}

func (r *replicas) close() {
	for _, c := range r.conns {
		c.close()
	}
}
