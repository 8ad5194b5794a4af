package mysqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/go-sql-driver/mysql"
)

// member is one server of a group.
type member struct {
	driver.Connector
	addr string
	asks *sql.DB

	mu    sync.Mutex
	conns map[*memberConn]struct{} // those made by the Connector
}

func newMember(group *mysql.Config, addr string, wrap func(driver.Connector) driver.Connector) (*member, error) {
	m := &member{addr: addr, conns: map[*memberConn]struct{}{}}
	cfg := group.Clone()
	cfg.Net, cfg.Addr, cfg.RejectReadOnly = "tcp", addr, true
	if cfg.TLS != nil { // its certificate names the member, not the group
		cfg.TLS.ServerName, _, _ = net.SplitHostPort(addr)
	}
	cfg.Logger = &mysql.NopLogger{}
	asking := cfg.Clone()
	asking.DBName = "" // it may not exist yet
	asking.Timeout, asking.ReadTimeout, asking.WriteTimeout = askLimit, askLimit, askLimit
	ask, err := mysql.NewConnector(asking)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	cfg.DialFunc = m.dial
	base, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	m.Connector, m.asks = wrap(base), sql.OpenDB(&sessionConnector{ask, Options{}.withDefaults()})
	m.asks.SetMaxOpenConns(1)
	return m, nil
}

// memberConn is a network connection that its member can close. It is a TCPConn, which lets the driver see whether the
// server has closed it.
type memberConn struct {
	*net.TCPConn
	m *member
}

// Close implements net.Conn.
func (c *memberConn) Close() error {
	c.m.mu.Lock()
	delete(c.m.conns, c)
	c.m.mu.Unlock()
	return c.TCPConn.Close()
}

func (m *member) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("connect to %s: not TCP", addr), conn.Close())
	}
	c := &memberConn{tcp, m}
	m.mu.Lock()
	m.conns[c] = struct{}{}
	m.mu.Unlock()
	return c, nil
}

// drop closes all connections.
func (m *member) drop() {
	m.mu.Lock()
	all := m.conns
	m.conns = map[*memberConn]struct{}{}
	m.mu.Unlock()
	for c := range all {
		_ = c.TCPConn.Close() // its users see that it is closed
	}
}

// ask returns the member's view of the group.
func (m *member) ask(ctx context.Context) answer {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	var a answer
	for r, err := range Rows(ctx, m.asks, func(r *listed) []any {
		return []any{&r.id, &r.self, &r.state, &r.role, &r.readOnly}
	}, `SELECT member_id, member_id = @@server_uuid, member_state, member_role, @@super_read_only
		FROM performance_schema.replication_group_members`) {
		if err != nil {
			return answer{err: err}
		}
		a.add(r)
	}
	return a
}

// listed is a row of a member's list of members.
type listed struct {
	id, state, role string
	self            bool
	readOnly        bool // the member that was asked takes no writes
}

// answer is one member's view of the group.
type answer struct {
	err error // not nil: it did not answer

	self, state string          // the member's own id and state
	primary     string          // the primary's id, "" for none
	readOnly    bool            // the member takes no writes
	knows       map[string]bool // the ids in its list of members
	members     int
	reachable   int
}

func (a *answer) add(r listed) {
	a.members++
	if a.knows == nil {
		a.knows = map[string]bool{}
	}
	a.knows[r.id] = true
	if r.state != "UNREACHABLE" {
		a.reachable++
	}
	if r.role == "PRIMARY" {
		a.primary = r.id
	}
	if r.self {
		a.self, a.state, a.readOnly = r.id, r.state, r.readOnly
	}
}

// votes reports whether the answer counts: the member is online and not cut off with a minority. Its RECOVERING peers
// count as reachable members, as in the group's own majority.
func (a *answer) votes() bool {
	return a.err == nil && a.state == "ONLINE" && 2*a.reachable > a.members
}

// elect returns the index of the primary's answer, or -1. The primary reports itself as the primary, takes writes, and
// has more votes than any other member. A former primary that was frozen, and has not noticed that it was replaced, has
// only its own vote. Nobody is elected while two primaries do not know each other: they belong to two groups, which
// both take writes.
func elect(answers []answer) int {
	if parted(answers) {
		return -1
	}
	votes := map[string]int{}
	for _, a := range answers {
		if a.votes() {
			votes[a.primary]++
		}
	}
	for i, a := range answers {
		if !a.leads() {
			continue
		}
		most := true
		for id, n := range votes {
			most = most && (id == a.self || n < votes[a.self])
		}
		if most {
			return i
		}
	}
	return -1
}

// leads reports whether the member considers itself the primary and takes writes.
func (a *answer) leads() bool { return a.votes() && a.primary == a.self && !a.readOnly }

// parted reports whether two members lead groups that do not know each other.
func parted(answers []answer) bool {
	for i, a := range answers {
		for _, b := range answers[:i] {
			if a.leads() && b.leads() && !a.knows[b.self] && !b.knows[a.self] {
				return true
			}
		}
	}
	return false
}

func (a *answer) String() string {
	switch {
	case a.err != nil:
		return fmt.Sprintf("does not answer (%v)", a.err)
	case a.state != "ONLINE":
		return "is " + a.state
	case !a.votes():
		return fmt.Sprintf("reaches %d of %d members", a.reachable, a.members)
	case a.primary == a.self && a.readOnly:
		return "is the primary and not writable yet"
	case a.primary == a.self:
		return "is the primary"
	}
	return "is a secondary"
}
