package mysqlgroup

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"orderstock/pkg/mysqldb"
)

// Member is one server of the group, with its view of the group.
type Member struct {
	// Addr is the server's address, as the DSN names it.
	Addr string
	// Err is the reason why the server could not be asked; the rest is empty then.
	Err error
	// State is ONLINE, RECOVERING, OFFLINE, ERROR or UNREACHABLE. Role is PRIMARY,
	// SECONDARY, or empty for a member that is out.
	State, Role string
	// Reached and Members count the members that it reaches, and the members that it knows.
	Reached, Members int
	// ReadOnly is true if it takes no writes, and Offline if it admits only administrators.
	ReadOnly, Offline bool
	// Transactions is the GTID set of the transactions that it has executed or received.
	Transactions string
	// Knows are the addresses in its settings and in its list of members.
	Knows []string
	// Fresh is true if it holds no data and was never in a group.
	Fresh bool

	db     *sql.DB
	server *mysql.Config // the administrator's way to it
}

// inGroup reports whether the member is online and reaches a majority.
func (m *Member) inGroup() bool {
	return m.Err == nil && m.State == "ONLINE" && 2*m.Reached > m.Members
}

// Primary reports whether the member takes writes, backed by a majority.
func (m *Member) Primary() bool { return m.inGroup() && m.Role == "PRIMARY" && !m.ReadOnly }

// open returns the members named by the administrator's DSN, none of them asked yet.
func open(adminDSN string) ([]*Member, error) {
	cfg, err := mysqldb.ParseDSN(adminDSN)
	if err != nil {
		return nil, fmt.Errorf("administrator's account: %w", err)
	}
	if cfg.Net != mysqldb.GroupNet {
		return nil, errors.New("administrator's account: want all members of the group: " +
			"root:secret@group(a:3306,b:3306,c:3306)/")
	}
	addrs, err := mysqldb.Addrs(cfg)
	if err != nil {
		return nil, err
	}
	var all []*Member
	for _, addr := range addrs {
		one := cfg.Clone()
		one.Net, one.Addr, one.DBName = "tcp", addr, ""
		one.Timeout, one.Logger = 2*time.Second, &mysql.NopLogger{}
		connector, err := mysqldb.Connector(one, mysqldb.Options{LockWait: time.Minute, IdleTimeout: 10 * time.Minute})
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", addr, err)
		}
		all = append(all, &Member{Addr: addr, db: sql.OpenDB(connector), server: one})
	}
	return all, nil
}

func closeAll(all []*Member) {
	for _, m := range all {
		_ = m.db.Close() // nothing is pending
	}
}

// readLimit bounds a look at one member.
const readLimit = 5 * time.Second

// read asks the member for all fields of Member, and sets Err.
func (m *Member) read(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	*m = Member{Addr: m.Addr, db: m.db, server: m.server}
	m.Err = m.readAll(ctx)
}

func (m *Member) readAll(ctx context.Context) error {
	const systemSchemas = "'mysql', 'sys', 'information_schema', 'performance_schema'"
	var plugin sql.NullString
	err := m.db.QueryRowContext(ctx, `SELECT @@super_read_only, @@offline_mode, REPLACE(@@gtid_executed, '\n', ''),
		(SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name NOT IN (`+systemSchemas+`)) = 0
			AND GTID_SUBTRACT(@@gtid_executed, CONCAT(@@server_uuid, ':1-9223372036854775806')) = '',
		(SELECT plugin_status FROM information_schema.plugins WHERE plugin_name = 'group_replication')`).
		Scan(&m.ReadOnly, &m.Offline, &m.Transactions, &m.Fresh, &plugin)
	if err != nil {
		return fmt.Errorf("ask %s: %w", m.Addr, err)
	}
	if plugin.String != "ACTIVE" {
		return fmt.Errorf("%s has not loaded the plugin group_replication: "+
			"start it with plugin-load-add=group_replication.so", m.Addr)
	}
	var received sql.NullString // no row until it was in a group
	err = m.db.QueryRowContext(ctx, `SELECT REPLACE(received_transaction_set, '\n', '')
		FROM performance_schema.replication_connection_status
		WHERE channel_name = 'group_replication_applier'`).Scan(&received)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("ask %s: %w", m.Addr, err)
	}
	both := strings.Trim(m.Transactions+","+received.String, ",")
	// The server merges the duplicates of both sets.
	err = m.db.QueryRowContext(ctx, `SELECT REPLACE(GTID_SUBTRACT(?, ''), '\n', '')`, both).Scan(&m.Transactions)
	if err != nil {
		return fmt.Errorf("ask %s: %w", m.Addr, err)
	}
	return m.readGroup(ctx)
}

// readGroup asks for the member's list of members.
func (m *Member) readGroup(ctx context.Context) error {
	var seeds string
	if err := m.db.QueryRowContext(ctx, "SELECT @@group_replication_group_seeds").Scan(&seeds); err != nil {
		return fmt.Errorf("ask %s: %w", m.Addr, err)
	}
	for addr := range strings.SplitSeq(seeds, ",") {
		m.know(strings.TrimSpace(addr))
	}
	type row struct {
		self              bool
		state, role, addr string
	}
	m.State = "OFFLINE"
	for r, err := range mysqldb.Rows(ctx, m.db, func(r *row) []any { return []any{&r.self, &r.state, &r.role, &r.addr} },
		`SELECT member_id = @@server_uuid, member_state, member_role,
		IF(member_host = '', '', CONCAT(member_host, ':', member_port))
		FROM performance_schema.replication_group_members`) {
		if err != nil {
			return fmt.Errorf("ask %s: %w", m.Addr, err)
		}
		m.know(r.addr)
		m.Members++
		if r.state != "UNREACHABLE" {
			m.Reached++
		}
		if r.self {
			m.State, m.Role = r.state, r.role
		}
	}
	return nil
}

func (m *Member) know(addr string) {
	if addr != "" && !slices.Contains(m.Knows, addr) {
		m.Knows = append(m.Knows, addr)
	}
}

// numStarting is the server's error while another start or stop of the group is in progress.
const numStarting = 3663

// leave takes the member out of the group. A member that has just started may be trying to join one that is gone: leave
// waits until it gives up, after at most a minute.
func (m *Member) leave(ctx context.Context) error {
	for {
		err := m.run(ctx, "STOP GROUP_REPLICATION")
		if refused, ok := errors.AsType[*mysql.MySQLError](err); !ok || refused.Number != numStarting {
			return err
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("%s is still trying to join: %w", m.Addr, err)
		}
	}
}

// run runs statements on one connection of the member, one after the other.
func (m *Member) run(ctx context.Context, statements ...string) (err error) {
	return m.connected(ctx, func(conn *sql.Conn) error { return m.runOn(ctx, conn, statements...) })
}

// connected runs do with one connection of the member.
func (m *Member) connected(ctx context.Context, do func(*sql.Conn) error) (err error) {
	conn, err := m.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", m.Addr, err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	return do(conn)
}

func (m *Member) runOn(ctx context.Context, conn *sql.Conn, statements ...string) error {
	for _, s := range statements {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			what := strings.Fields(s) // the whole statement may hold a password
			return fmt.Errorf("%s: %s: %w", m.Addr, strings.Join(what[:min(3, len(what))], " "), err)
		}
	}
	return nil
}
