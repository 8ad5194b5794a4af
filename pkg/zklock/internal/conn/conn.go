package conn

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// closeTimeout bounds how long Close waits for what runs in the background.
const closeTimeout = 10 * time.Second

// Conn is a connection to ZooKeeper and its present session. Its methods are safe for concurrent use.
type Conn struct {
	ZK *zk.Conn
	// ACL is the default for new nodes: all rights for clients that authenticate as this connection
	// does, or for everybody if it does not authenticate.
	ACL []zk.ACL
	// Log is the logger of the options.
	Log *slog.Logger

	monitor  *Monitor
	troubled Allowance       // bounds the log
	events   <-chan zk.Event // closed when ZK has ended; nil if ZK is the caller's

	ctx     context.Context // ends at Close
	cancel  context.CancelCauseFunc
	running sync.WaitGroup // see Go

	mu       sync.Mutex
	closed   bool
	lifetime *Lifetime     // nil while no session is alive
	changed  chan struct{} // closed when the lifetime or the connection changes
	watches  map[string]*Watch
}

// Options are the options of Connect and Wrap. Wrap uses Log and Auth only.
type Options struct {
	Timeout time.Duration // of the session
	Dial    zk.Dialer     // nil means net.DialTimeout
	TLS     *tls.Config   // nil means none
	Log     *slog.Logger
	Auth    []Auth
}

// Auth is a scheme and a secret to authenticate by.
type Auth struct {
	Scheme string
	Secret []byte
}

// secured returns a dialer that speaks TLS, on connections of dial, with the servers that h chooses.
func secured(dial zk.Dialer, with *tls.Config, h *hosts) zk.Dialer {
	return func(network, address string, timeout time.Duration) (net.Conn, error) {
		raw, err := dial(network, address, timeout)
		if err != nil {
			return nil, err
		}
		config := with.Clone()
		config.ServerName = cmp.Or(config.ServerName, h.nameOf(address))
		client := tls.Client(raw, config)
		ctx, cancel := context.WithTimeout(context.Background(), timeout) //nolint:forbidigo // the library gives none
		defer cancel()
		if err := client.HandshakeContext(ctx); err != nil {
			_ = raw.Close()
			return nil, fmt.Errorf("TLS handshake with %s at %s: %w", config.ServerName, address, err)
		}
		return client, nil
	}
}

// Connect is zklock.Connect, with each server by itself.
func Connect(ctx context.Context, servers []string, o Options) (*Conn, error) {
	if o.Timeout < time.Millisecond || o.Timeout > math.MaxInt32*time.Millisecond {
		return nil, fmt.Errorf("connect to ZooKeeper: session timeout %s: want 1ms to %s", o.Timeout,
			math.MaxInt32*time.Millisecond)
	}
	monitor, hosts := NewMonitor(o.Dial), newHosts()
	monitor.leaves = true
	if o.TLS != nil {
		monitor.dial = secured(monitor.dial, o.TLS, hosts)
	}
	zkConn, events, err := zk.Connect(servers, o.Timeout,
		zk.WithDialer(monitor.Dial), zk.WithHostProvider(hosts),
		zk.WithLogger(clientLog{o.Log}), zk.WithLogInfo(false))
	if err != nil {
		return nil, fmt.Errorf("connect to ZooKeeper: %w", err)
	}
	c := newConn(zkConn, events, monitor, o)
	if err := c.begin(ctx, o); err != nil {
		_ = c.Close(nil) // there is nothing to lose yet
		return nil, fmt.Errorf("connect to ZooKeeper at %v: %w", servers, errors.Join(err, hosts.trouble(), c.Trouble()))
	}
	return c, nil
}

// Wrap is zklock.Wrap.
func Wrap(ctx context.Context, zkConn *zk.Conn, monitor *Monitor, o Options) (*Conn, error) {
	c := newConn(zkConn, nil, monitor, o)
	known := make(chan struct{})
	c.Go(func() { c.watchOwner(known) })
	ctx, stop := Until(ctx, c.ctx)
	defer stop()
	err := Wait(ctx, known)
	if err == nil {
		err = c.begin(ctx, o)
	}
	if err != nil {
		_ = c.Close(func(time.Duration) {}) // as above
		return nil, fmt.Errorf("wrap ZooKeeper connection: %w", errors.Join(err, c.Trouble()))
	}
	return c, nil
}

func newConn(zkConn *zk.Conn, events <-chan zk.Event, monitor *Monitor, o Options) *Conn {
	acl := zk.WorldACL(zk.PermAll)
	if len(o.Auth) > 0 {
		acl = zk.AuthACL(zk.PermAll)
	}
	c := &Conn{
		ZK: zkConn, ACL: acl, events: events, monitor: monitor, Log: o.Log,
		changed: make(chan struct{}), watches: map[string]*Watch{}, troubled: Allowance{Times: 1, Every: 10 * time.Second},
	}
	c.ctx, c.cancel = context.WithCancelCause(context.Background()) //nolint:forbidigo // it lives until Close
	monitor.mu.Lock()
	monitor.report = c.logTrouble
	monitor.mu.Unlock()
	c.Go(c.keepLifetime)
	return c
}

// logTrouble logs that there is no connection, now and then.
func (c *Conn) logTrouble(trouble error) {
	if c.troubled.Take() {
		c.Log.Warn("no connection to zookeeper", "cause", trouble)
	}
}

// Trouble returns why the newest try to connect has failed, or nil.
func (c *Conn) Trouble() error {
	c.monitor.mu.Lock()
	defer c.monitor.mu.Unlock()
	return c.monitor.trouble
}

// begin waits for the session and authenticates it.
func (c *Conn) begin(ctx context.Context, o Options) error {
	if _, err := c.Ready(ctx); err != nil {
		return err
	}
	for _, a := range o.Auth {
		err := Retry(ctx, func() error {
			_, err := Do(ctx, c, func() (struct{}, error) { return struct{}{}, c.ZK.AddAuth(a.Scheme, a.Secret) })
			return err
		})
		if err != nil {
			return fmt.Errorf("authenticate by %s: %w", a.Scheme, err)
		}
	}
	return nil
}

// errNotDialled is what Wrap returns for a connection that its monitor knows nothing of.
var errNotDialled = errors.New("the monitor's Dial has not made this connection: " +
	"give it to zk.Connect by zk.WithDialer, and make a monitor for each connection")

// watchOwner ends c when the owner of a wrapped connection closes it. The library informs nobody else of that. It waits
// on a watch, which the library drops then. While a zk.Conn is open, a request waits for the next connection, so the
// zk.Conn counts as closed when five requests in a row fail at once. It also ends c if five requests in a row are
// answered in a session that the monitor has not seen. It closes known when one is answered in the monitor's.
func (c *Conn) watchOwner(known chan<- struct{}) {
	var pause Pause
	for failed, strange := 0, 0; failed < 5; {
		_, _, events, err := c.ZK.ExistsW("/")
		_, clock, _ := c.monitor.state()
		switch {
		case err == nil && (clock == nil || clock.ID != c.ZK.SessionID()): // or a new session has just begun
			if strange++; strange == 5 {
				c.cancel(errNotDialled)
				return
			}
		case err == nil:
			failed, strange, pause = 0, 0, Pause{}
			if known != nil {
				close(known)
				known = nil
			}
			if Wait(c.ctx, events) != nil {
				return
			}
		case errors.Is(err, zk.ErrConnectionClosed) && c.ZK.State() == zk.StateDisconnected:
			failed++
		default:
			failed = 0
		}
		if pause.Wait(c.ctx) != nil {
			return
		}
	}
	c.cancel(fmt.Errorf("%w: the owner of its connection has closed it", ErrClosed))
}

// Context returns a context that ends, with ErrClosed as its cause, when c is closed or the owner of
// a wrapped connection has closed that.
func (c *Conn) Context() context.Context { return c.ctx }

// Go runs f in a goroutine that Close waits for. It returns false after Close, and does nothing. What f waits for must
// end with Context, or be a request of the client library, which ends with the connection.
func (c *Conn) Go(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.running.Go(f)
	}
	return !c.closed
}

// Close is Session.Close. If the connection is the caller's, it calls tidy, which should remove the nodes that would
// otherwise stay within the limit.
func (c *Conn) Close(tidy func(limit time.Duration)) error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return ErrClosed
	}
	c.closed = true
	watches := slices.Collect(maps.Values(c.watches))
	c.mu.Unlock()
	c.cancel(ErrClosed)
	for _, w := range watches {
		w.set() // ends it, if it was not set
	}

	within(time.Second, c.running.Wait) // the library's answers race with its Close
	if c.events != nil {
		c.ZK.Close() // and the server removes the session's nodes
		c.awaitEnd()
	} else {
		within(closeTimeout, func() { tidy(closeTimeout) })
	}
	if !within(closeTimeout, c.running.Wait) {
		return errors.New("close session: requests still wait for ZooKeeper")
	}
	return nil
}

// awaitEnd waits for the end of the library's loop, about ten seconds at most: without an answer to the
// request that ends the session, the library reads on until its read timeout.
func (c *Conn) awaitEnd() {
	end := func() {
		for range c.events {
		}
	}
	if !within(closeTimeout, end) {
		c.monitor.shut()
		within(time.Second, end)
	}
}

// within runs f and reports whether it ended in time. If not, f goes on.
func within(limit time.Duration, f func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
		return true
	case <-time.After(limit):
		return false
	}
}

// clientLog passes the client library's messages on.
type clientLog struct{ log *slog.Logger }

func (l clientLog) Printf(format string, args ...any) {
	l.log.Debug("zookeeper client: " + fmt.Sprintf(format, args...))
}
