package mysqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"orderstock/pkg/config"
)

// GroupNet is the network of a DSN that names the members of a group:
// user:password@group(a:3306,b:3306,c:3306)/database.
const GroupNet = "group"

// ErrNoPrimary is wrapped in the error of a connection to a group without a known primary. The text has each member's
// answer.
var ErrNoPrimary = errors.New("no primary")

const (
	// lookEvery is the pause between two looks at the group.
	lookEvery = 250 * time.Millisecond
	// askLimit bounds the wait for one member's answer.
	askLimit = 2 * time.Second
	// primaryWait bounds the wait of a new connection until a primary is known.
	primaryWait = 2 * time.Second
)

// Connector returns a driver.Connector for the server of cfg. If the network is GroupNet, that is a *Cluster, which
// sql.DB closes with itself.
//
// It sets every session variable on which the meaning of statements depends (see the package's comment), and the bounds
// LockWait and IdleTimeout. Of the other options, it uses Wrap and Log.
func Connector(cfg *mysql.Config, opts Options) (driver.Connector, error) {
	opts = opts.withDefaults()
	wrap := func(base driver.Connector) driver.Connector {
		set := &sessionConnector{base, opts}
		if opts.Wrap == nil {
			return set
		}
		return opts.Wrap(set)
	}
	if cfg.Net == GroupNet {
		return newCluster(cfg, wrap, opts.Log)
	}
	base, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return wrap(base), nil
}

// Cluster connects to the primary of a MySQL group in single-primary mode. From the first connection on it asks all
// members, a few times per second, which of them is the primary; a member that has not answered yet counts as down. As
// soon as another member is the primary, or the primary reports that it no longer is, Cluster closes the connections to
// the former primary, so that no call hangs there or reads stale data. It is safe for concurrent use.
type Cluster struct {
	members []*member
	log     *slog.Logger

	begin sync.Once
	stop  context.CancelFunc
	ended chan struct{}

	mu      sync.Mutex
	primary *member       // nil: none is known
	why     error         // the members' latest answers
	changed chan struct{} // closed at the next change of primary
}

var _ driver.Connector = (*Cluster)(nil)

// Addrs returns the addresses of the members that cfg names.
func Addrs(cfg *mysql.Config) ([]string, error) {
	if cfg.Net != GroupNet {
		return []string{cfg.Addr}, nil
	}
	addrs, err := config.ParseList(cfg.Addr)
	if err != nil || len(addrs) == 0 {
		return nil, fmt.Errorf("read DSN: want the members of the group, group(a:3306,b:3306,c:3306), "+
			"not group(%s)", cfg.Addr)
	}
	for i, addr := range addrs {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			addr = net.JoinHostPort(addr, "3306")
		}
		if slices.Contains(addrs[:i], addr) {
			return nil, fmt.Errorf("read DSN: the group names %s twice", addr)
		}
		addrs[i] = addr
	}
	return addrs, nil
}

func newCluster(cfg *mysql.Config, wrap func(driver.Connector) driver.Connector, log *slog.Logger) (*Cluster, error) {
	addrs, err := Addrs(cfg)
	if err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c := &Cluster{
		log: log, ended: make(chan struct{}), changed: make(chan struct{}), why: errors.New("no member has answered yet"),
	}
	for _, addr := range addrs {
		m, err := newMember(cfg, addr, wrap)
		if err != nil {
			return nil, err
		}
		c.members = append(c.members, m)
	}
	return c, nil
}

// Driver implements driver.Connector.
func (c *Cluster) Driver() driver.Driver { return c.members[0].Driver() }

// Connect returns a connection to the primary. It waits briefly if none is known, and then returns an error that wraps
// ErrNoPrimary.
func (c *Cluster) Connect(ctx context.Context) (driver.Conn, error) {
	c.begin.Do(func() { c.watch(ctx) })
	m, err := c.await(ctx)
	if err != nil {
		return nil, err
	}
	conn, err := m.Connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", m.addr, err)
	}
	if c.Primary() != m.addr { // replaced before the connection was listed among those to close
		_ = conn.Close() // of no use
		return nil, fmt.Errorf("connect to %s: %w", m.addr, ErrNoPrimary)
	}
	return conn, nil
}

// Primary returns the address of the primary, as the DSN names it, or "" if none is known.
func (c *Cluster) Primary() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.primary == nil {
		return ""
	}
	return c.primary.addr
}

// Close stops asking the members. The connections stay open.
func (c *Cluster) Close() error {
	c.begin.Do(func() { close(c.ended) }) // watch never ran
	if c.stop != nil {
		c.stop()
	}
	<-c.ended
	var errs []error
	for _, m := range c.members {
		errs = append(errs, m.asks.Close())
	}
	return errors.Join(errs...)
}

// await returns the primary as soon as one is known.
func (c *Cluster) await(ctx context.Context) (*member, error) {
	limit := time.NewTimer(primaryWait)
	defer limit.Stop()
	for {
		c.mu.Lock()
		primary, changed := c.primary, c.changed
		c.mu.Unlock()
		if primary != nil {
			return primary, nil
		}
		select {
		case <-changed:
		case <-limit.C:
			c.mu.Lock()
			defer c.mu.Unlock()
			return nil, fmt.Errorf("%w: %w", ErrNoPrimary, c.why)
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ErrNoPrimary, ctx.Err())
		}
	}
}

func (c *Cluster) watch(ctx context.Context) {
	ctx, c.stop = context.WithCancel(context.WithoutCancel(ctx)) // until Close
	go func() {
		defer close(c.ended)
		for ctx.Err() == nil {
			c.look(ctx)
			select {
			case <-ctx.Done():
			case <-time.After(lookEvery):
			}
		}
	}()
}

// look asks all members, and sets the primary by their answers.
func (c *Cluster) look(ctx context.Context) {
	answers := make([]answer, len(c.members))
	var asked sync.WaitGroup
	for i, m := range c.members {
		asked.Go(func() { answers[i] = m.ask(ctx) })
	}
	asked.Wait()
	if ctx.Err() != nil {
		return
	}
	elected := elect(answers)
	c.mu.Lock()
	former := c.primary
	switch {
	case elected >= 0:
		c.primary = c.members[elected]
	case former != nil && answers[slices.Index(c.members, former)].err != nil:
		// Keep a silent primary while no other is elected: it may only be slow.
	default:
		c.primary = nil
	}
	c.why = c.reasons(answers)
	primary := c.primary
	if primary != former {
		close(c.changed)
		c.changed = make(chan struct{})
	}
	c.mu.Unlock()
	if primary == former {
		return
	}
	if former != nil {
		former.drop()
	}
	if primary == nil {
		c.log.Warn("the group has no primary", "members", c.reasons(answers).Error())
	} else {
		c.log.Info("primary of the group", "addr", primary.addr)
	}
}

// reasons returns each member's answer, as an error that explains why there is no primary.
func (c *Cluster) reasons(answers []answer) error {
	all := make([]string, len(answers))
	for i, a := range answers {
		all[i] = c.members[i].addr + " " + a.String()
	}
	return errors.New(strings.Join(all, "; "))
}
