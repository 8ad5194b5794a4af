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

// Connector returns a driver.Connector for the server of cfg. If the network is GroupNet, that is a *Group, which
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
		return newGroup(cfg, wrap, opts.Log)
	}
	base, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return wrap(base), nil
}

// Group connects to the primary of a MySQL group in single-primary mode. From the first connection on it asks all
// members, a few times per second, which of them is the primary; a member that has not answered yet counts as down. As
// soon as another member is the primary, or the primary reports that it no longer is, Group closes the connections to
// the former primary, so that no call hangs there or reads stale data. It is safe for concurrent use.
type Group struct {
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

var _ driver.Connector = (*Group)(nil)

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

func newGroup(cfg *mysql.Config, wrap func(driver.Connector) driver.Connector, log *slog.Logger) (*Group, error) {
	addrs, err := Addrs(cfg)
	if err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	g := &Group{
		log: log, ended: make(chan struct{}), changed: make(chan struct{}), why: errors.New("no member has answered yet"),
	}
	for _, addr := range addrs {
		m, err := newMember(cfg, addr, wrap)
		if err != nil {
			return nil, err
		}
		g.members = append(g.members, m)
	}
	return g, nil
}

// Driver implements driver.Connector.
func (g *Group) Driver() driver.Driver { return g.members[0].Driver() }

// Connect returns a connection to the primary. It waits briefly if none is known, and then returns an error that wraps
// ErrNoPrimary.
func (g *Group) Connect(ctx context.Context) (driver.Conn, error) {
	g.begin.Do(func() { g.watch(ctx) })
	m, err := g.await(ctx)
	if err != nil {
		return nil, err
	}
	conn, err := m.Connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", m.addr, err)
	}
	if g.Primary() != m.addr { // replaced before the connection was listed among those to close
		_ = conn.Close() // of no use
		return nil, fmt.Errorf("connect to %s: %w", m.addr, ErrNoPrimary)
	}
	return conn, nil
}

// Primary returns the address of the primary, as the DSN names it, or "" if none is known.
func (g *Group) Primary() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.primary == nil {
		return ""
	}
	return g.primary.addr
}

// Close stops asking the members. The connections stay open.
func (g *Group) Close() error {
	g.begin.Do(func() { close(g.ended) }) // watch never ran
	if g.stop != nil {
		g.stop()
	}
	<-g.ended
	var errs []error
	for _, m := range g.members {
		errs = append(errs, m.asks.Close())
	}
	return errors.Join(errs...)
}

// await returns the primary as soon as one is known.
func (g *Group) await(ctx context.Context) (*member, error) {
	limit := time.NewTimer(primaryWait)
	defer limit.Stop()
	for {
		g.mu.Lock()
		primary, changed := g.primary, g.changed
		g.mu.Unlock()
		if primary != nil {
			return primary, nil
		}
		select {
		case <-changed:
		case <-limit.C:
			g.mu.Lock()
			defer g.mu.Unlock()
			return nil, fmt.Errorf("%w: %w", ErrNoPrimary, g.why)
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ErrNoPrimary, ctx.Err())
		}
	}
}

func (g *Group) watch(ctx context.Context) {
	ctx, g.stop = context.WithCancel(context.WithoutCancel(ctx)) // until Close
	go func() {
		defer close(g.ended)
		for ctx.Err() == nil {
			g.look(ctx)
			select {
			case <-ctx.Done():
			case <-time.After(lookEvery):
			}
		}
	}()
}

// look asks all members, and sets the primary by their answers.
func (g *Group) look(ctx context.Context) {
	answers := make([]answer, len(g.members))
	var asked sync.WaitGroup
	for i, m := range g.members {
		asked.Go(func() { answers[i] = m.ask(ctx) })
	}
	asked.Wait()
	if ctx.Err() != nil {
		return
	}
	elected := elect(answers)
	g.mu.Lock()
	former := g.primary
	switch {
	case elected >= 0:
		g.primary = g.members[elected]
	case former != nil && answers[slices.Index(g.members, former)].err != nil:
		// Keep a silent primary while no other is elected: it may only be slow.
	default:
		g.primary = nil
	}
	g.why = g.reasons(answers)
	primary := g.primary
	if primary != former {
		close(g.changed)
		g.changed = make(chan struct{})
	}
	g.mu.Unlock()
	if primary == former {
		return
	}
	if former != nil {
		former.drop()
	}
	if primary == nil {
		g.log.Warn("the group has no primary", "members", g.reasons(answers).Error())
	} else {
		g.log.Info("primary of the group", "addr", primary.addr)
	}
}

// reasons returns each member's answer, as an error that explains why there is no primary.
func (g *Group) reasons(answers []answer) error {
	all := make([]string, len(answers))
	for i, a := range answers {
		all[i] = g.members[i].addr + " " + a.String()
	}
	return errors.New(strings.Join(all, "; "))
}
