package mysqlgroup

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"orderstock/pkg/mysqluser"
)

// Config configures Up, Read and Reboot.
type Config struct {
	// AdminDSN belongs to a user with all rights, and names all members: root:secret@group(a:3306,b:3306,c:3306)/
	AdminDSN string
	// Password belongs to the account that the members use to read from each other. Read needs none.
	Password string
	// Wait bounds the wait for members that do not answer yet, or do not join yet. Default two minutes.
	Wait time.Duration
	// Say, if not nil, is called with a short description of each step.
	Say func(doing string)
}

func (cfg Config) withDefaults() Config {
	if cfg.Wait <= 0 {
		cfg.Wait = 2 * time.Minute
	}
	if cfg.Say == nil {
		cfg.Say = func(string) {}
	}
	return cfg
}

// The reasons why Up and Reboot give up; match them with errors.Is.
var (
	// ErrAway: a member does not answer, and may hold data that the others lack.
	ErrAway = errors.New("a member does not answer")
	// ErrHoldsData: no member is in a group, and one of them holds data.
	ErrHoldsData = errors.New("a member holds data")
	// ErrUnlisted: a member knows another one that the DSN does not name. A group of the rest might be a second one.
	ErrUnlisted = errors.New("the DSN does not name all members")
	// ErrUp: a majority is in the group already.
	ErrUp = errors.New("the group is up")
	// ErrParted: no member has all transactions of the others.
	ErrParted = errors.New("the members' transactions have parted")
	// ErrBusy: another process is forming the group.
	ErrBusy = errors.New("another run forms the group")
)

// Read returns each member's view of the group. A member that cannot be asked has Err set.
func Read(ctx context.Context, cfg Config) ([]Member, error) {
	all, err := open(cfg.AdminDSN)
	if err != nil {
		return nil, err
	}
	defer closeAll(all)
	readAll(ctx, all)
	return values(all), nil
}

func values(all []*Member) []Member {
	members := make([]Member, len(all))
	for i, m := range all {
		members[i] = *m
	}
	return members
}

// Whole returns nil if all members are in the group, one of them the primary.
func Whole(members []Member) error {
	var errs []error
	primaries := 0
	for _, m := range members {
		switch {
		case m.Err != nil:
			errs = append(errs, m.Err)
		case !m.inGroup():
			errs = append(errs, fmt.Errorf("%s is %s and reaches %d of %d members", m.Addr, m.State, m.Reached, m.Members))
		case m.Primary():
			primaries++
		}
	}
	if primaries > 1 || len(errs) == 0 && primaries != 1 {
		errs = append(errs, fmt.Errorf("%d members are primary", primaries))
	}
	return errors.Join(append(errs, allListed(members))...)
}

// allListed returns ErrUnlisted with the known addresses that belong to none of the members.
func allListed(members []Member) error {
	var errs []error
	for _, m := range members {
		for _, addr := range m.Knows {
			if !slices.ContainsFunc(members, func(m Member) bool { return m.Addr == addr }) {
				errs = append(errs, fmt.Errorf("%w: %s knows %s; name it, too, as that member names itself",
					ErrUnlisted, m.Addr, addr))
			}
		}
	}
	return errors.Join(errs...)
}

// Up forms the group if there was none before, and lets the members that are out join. It may be called again, and by
// several processes at once. If no member is in a group, all must answer (ErrAway) and be fresh (ErrHoldsData), and the
// group begins with the first one. Up returns once all members are in the group.
func Up(ctx context.Context, cfg Config) error {
	cfg = cfg.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, cfg.Wait)
	defer cancel()
	return cfg.alone(ctx, true, func(all []*Member) error {
		if !anyInGroup(all) {
			for _, m := range all {
				if m.Err != nil {
					return fmt.Errorf("form the group: %w: %w", ErrAway, m.Err)
				}
			}
			for _, m := range all {
				if !m.Fresh {
					return fmt.Errorf("form the group: %w: %s; if it was in a group, and no member is in one now: "+
						"migrate group reboot; if it was in none: form the group of empty servers, and load a dump of its data",
						ErrHoldsData, m.Addr)
				}
			}
			if err := cfg.begin(ctx, all[0]); err != nil {
				return err
			}
		}
		if err := cfg.join(ctx, all); err != nil {
			return err
		}
		readAll(ctx, all)
		if err := Whole(values(all)); err != nil { // such as members of two groups
			return fmt.Errorf("form the group: %w", err)
		}
		return nil
	})
}

// Reboot forms the group again after its majority was lost. It begins with the member whose transactions contain all
// others', lets the others join, and returns the address of that member. Transactions of fresh members do not count,
// and are deleted. It changes nothing and returns ErrUp if a majority is in the group, ErrAway if a member does not
// answer and force is false, and ErrParted if no member has the transactions of all others that answer. If force is
// true, data that only a silent member has is lost.
func Reboot(ctx context.Context, cfg Config, force bool) (chosen string, err error) {
	cfg = cfg.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, cfg.Wait)
	defer cancel()
	err = cfg.alone(ctx, !force, func(all []*Member) error {
		if anyInGroup(all) {
			return fmt.Errorf("reboot the group: %w: members that are out join by: migrate group up", ErrUp)
		}
		var there []*Member
		for _, m := range all {
			if m.Err == nil {
				there = append(there, m)
			} else if !force {
				return fmt.Errorf("reboot the group: %w: it may have orders that the others lack; "+
					"start it, or do without it by --force: %w", ErrAway, m.Err)
			}
		}
		if _, err := mostAdvanced(ctx, there); err != nil {
			return fmt.Errorf("reboot the group: %w", err)
		}
		// The transactions that wait for the lost majority end now. The sets do not change after that.
		if err := each(there, func(m *Member) error { return m.leave(ctx) }); err != nil {
			return fmt.Errorf("reboot the group: %w", err)
		}
		readAll(ctx, there)
		first, err := mostAdvanced(ctx, there)
		if err != nil {
			return fmt.Errorf("reboot the group: %w", err)
		}
		chosen = first.Addr
		if err := cfg.begin(ctx, first); err != nil {
			return err
		}
		return cfg.join(ctx, there)
	})
	return chosen, err
}

// mostAdvanced returns the member whose transactions contain all others'. A fresh member counts only if all are fresh:
// it has only the transactions of its first start, which no other has.
func mostAdvanced(ctx context.Context, all []*Member) (*Member, error) {
	if len(all) == 0 {
		return nil, ErrAway
	}
	holding := slices.DeleteFunc(slices.Clone(all), func(m *Member) bool { return m.Fresh })
	if len(holding) == 0 {
		return all[0], nil
	}
	var lacks []string
	for _, m := range holding {
		complete := true
		for _, other := range holding {
			var contained bool
			if err := m.db.QueryRowContext(ctx, "SELECT GTID_SUBSET(?, ?)", other.Transactions, m.Transactions).
				Scan(&contained); err != nil {
				return nil, fmt.Errorf("compare transactions: %w", err)
			}
			if !contained {
				complete = false
				lacks = append(lacks, fmt.Sprintf("%s lacks some of %s", m.Addr, other.Addr))
			}
		}
		if complete {
			return m, nil
		}
	}
	return nil, fmt.Errorf("%w: %s; keep the one that you trust, empty the data folder of the others, and run it again",
		ErrParted, strings.Join(lacks, ", "))
}

// alone reads all members and calls fn with them, while it holds a lock of each member that answers, because two runs
// need not reach the same members. If wait is true it waits for members that do not answer.
func (cfg Config) alone(ctx context.Context, wait bool, fn func(all []*Member) error) error {
	if cfg.Password == "" {
		return errors.New("form the group: no password for the members' own account")
	}
	all, err := open(cfg.AdminDSN)
	if err != nil {
		return err
	}
	defer closeAll(all)
	cfg.Say(fmt.Sprintf("asking %d members", len(all)))
	until := time.Now().Add(cfg.Wait / 2)
	for readAll(ctx, all); time.Now().Before(until); readAll(ctx, all) {
		away := 0
		for _, m := range all {
			if m.Err != nil {
				away++
			}
		}
		if away == 0 || away < len(all) && (!wait || anyInGroup(all)) {
			break
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
	answer := false
	for _, m := range all { // in the same order as every other run
		if m.Err != nil {
			continue
		}
		answer = true
		lock, err := cfg.lock(ctx, m)
		if err != nil {
			return err
		}
		defer func() { _ = lock.Close() }() // and then all connections are closed
	}
	if !answer {
		return fmt.Errorf("form the group: %w: %w", ErrAway, all[0].Err)
	}
	readAll(ctx, all) // after the former holder of the lock
	if err := allListed(values(all)); err != nil {
		return fmt.Errorf("form the group: %w", err)
	}
	// A run that was killed may have left a member ready to begin a second group.
	for _, m := range all {
		if m.Err != nil {
			continue
		}
		if err := m.run(ctx, "SET GLOBAL group_replication_bootstrap_group = OFF"); err != nil {
			return fmt.Errorf("form the group: %w", err)
		}
	}
	return fn(all)
}

// lock takes the server's named lock, which ends with the connection.
func (cfg Config) lock(ctx context.Context, m *Member) (*sql.Conn, error) {
	conn, err := m.db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.Addr, err)
	}
	var got sql.NullInt64
	err = conn.QueryRowContext(ctx, "SELECT GET_LOCK('orderstock-group', ?)", (cfg.Wait / 2).Seconds()).Scan(&got)
	if err == nil && got.Int64 != 1 {
		err = ErrBusy
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", m.Addr, err), conn.Close())
	}
	return conn, nil
}

// account is the user that the members use to read from each other.
const account = "replication"

// prepare makes a member ready to begin a group or to join one.
func (cfg Config) prepare(ctx context.Context, m *Member) error {
	statements := []string{
		"GRANT REPLICATION SLAVE, BACKUP_ADMIN, CONNECTION_ADMIN, GROUP_REPLICATION_STREAM ON *.* TO '" + account + "'@'%'",
		"CHANGE REPLICATION SOURCE TO SOURCE_USER = '" + account + "', SOURCE_PASSWORD = " + mysqluser.Quote(cfg.Password) +
			" FOR CHANNEL 'group_replication_recovery'",
		// From now on it joins by itself when it starts, and takes no writes until it has joined.
		"SET PERSIST group_replication_start_on_boot = ON",
		"SET PERSIST super_read_only = ON",
		"SET GLOBAL offline_mode = OFF",
	}
	if m.Fresh {
		// The transactions of its first start, such as the administrator's account, are in no other member's set.
		statements = append(statements, "RESET BINARY LOGS AND GTIDS")
	}
	return m.connected(ctx, func(conn *sql.Conn) error {
		err := m.runOn(ctx, conn,
			"SET SESSION sql_log_bin = 0", // each member has the account and its rights locally
			"SET GLOBAL group_replication_bootstrap_group = OFF",
			"SET GLOBAL super_read_only = OFF",
		)
		if err != nil {
			return err
		}
		replication := mysqluser.User{Name: account, Password: cfg.Password, Requires: "SSL"}
		if err := replication.Ensure(ctx, conn, m.server); err != nil {
			return fmt.Errorf("%s: %w", m.Addr, err)
		}
		return m.runOn(ctx, conn, statements...)
	})
}

// begin makes a group of one member.
func (cfg Config) begin(ctx context.Context, m *Member) error {
	cfg.Say("beginning with " + m.Addr)
	if err := cfg.prepare(ctx, m); err != nil {
		return fmt.Errorf("begin the group: %w", err)
	}
	err := m.run(ctx, "SET GLOBAL group_replication_bootstrap_group = ON", "START GROUP_REPLICATION")
	// It must never begin a second group later.
	off := m.run(context.WithoutCancel(ctx), "SET GLOBAL group_replication_bootstrap_group = OFF")
	if err := errors.Join(err, off); err != nil {
		return fmt.Errorf("begin the group: %w", err)
	}
	return await(ctx, m, (*Member).Primary)
}

// join lets the members that are out join, and waits until all are in.
func (cfg Config) join(ctx context.Context, all []*Member) error {
	err := each(all, func(m *Member) error {
		m.read(ctx)
		if m.Err != nil {
			return fmt.Errorf("%w: %w", ErrAway, m.Err)
		}
		if m.inGroup() {
			return nil
		}
		cfg.Say("joining " + m.Addr)
		var err error
		if m.State != "RECOVERING" {
			if err = m.leave(ctx); err == nil {
				err = cfg.prepare(ctx, m)
			}
			if err == nil {
				err = m.run(ctx, "START GROUP_REPLICATION")
			}
		}
		if err != nil {
			return err
		}
		return await(ctx, m, (*Member).inGroup)
	})
	if err != nil {
		return fmt.Errorf("join the group: %w", err)
	}
	return nil
}

// await returns once the member is as wanted.
func await(ctx context.Context, m *Member, wanted func(*Member) bool) error {
	for {
		if m.read(ctx); m.Err == nil && wanted(m) {
			return nil
		}
		if err := pause(ctx); err != nil {
			return errors.Join(fmt.Errorf("%s is %s %s: %w", m.Addr, m.State, m.Role, err), m.Err)
		}
	}
}

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(200 * time.Millisecond):
		return nil
	}
}

func anyInGroup(all []*Member) bool {
	for _, m := range all {
		if m.inGroup() {
			return true
		}
	}
	return false
}

func readAll(ctx context.Context, all []*Member) {
	_ = each(all, func(m *Member) error { m.read(ctx); return nil })
}

func each(all []*Member, do func(*Member) error) error {
	errs := make([]error, len(all))
	var doing sync.WaitGroup
	for i, m := range all {
		doing.Go(func() { errs[i] = do(m) })
	}
	doing.Wait()
	return errors.Join(errs...)
}
