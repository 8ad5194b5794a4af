package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"orderstock/loadtest/system"
	"orderstock/pkg/mysqldb"
	"orderstock/pkg/mysqlgroup"
	"orderstock/pkg/redisdb"
	"orderstock/pkg/servers"
)

// awaitWhole returns once all MySQL servers are in the group. A member that was cut off or frozen, and gave up, rejoins
// by "migrate group up".
func awaitWhole(ctx context.Context, l *system.System) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	whole := func(ctx context.Context) error {
		members, err := mysqlgroup.Read(ctx, l.Cluster.Group)
		if err != nil {
			return err
		}
		return mysqlgroup.Whole(members)
	}
	if await(ctx, 15*time.Second, "for the group", whole) == nil {
		return nil
	}
	return mysqlgroup.Up(ctx, l.Cluster.Group)
}

// primaryOf returns the address of the member that takes writes. If there is none, the error is mysqldb.ErrNoPrimary.
func primaryOf(ctx context.Context, g mysqlgroup.Config) (string, error) {
	members, err := mysqlgroup.Read(ctx, g)
	if err != nil {
		return "", err
	}
	for _, m := range members {
		if m.Primary() {
			return m.Addr, nil
		}
	}
	return "", fmt.Errorf("find the primary: %w", mysqldb.ErrNoPrimary)
}

func place(l *system.System, member *servers.MySQL) int {
	return slices.Index(l.Cluster.MySQL.Members, member)
}

// secondary returns a member that is not the primary.
func secondary(l *system.System, primary *servers.MySQL) *servers.MySQL {
	return l.Cluster.MySQL.Members[(place(l, primary)+1)%len(l.Cluster.MySQL.Members)]
}

// awaitOther waits until another member is the primary.
func awaitOther(ctx context.Context, l *system.System, than *servers.MySQL) error {
	others := l.Cluster.Group
	cfg, err := mysql.ParseDSN(others.AdminDSN)
	if err != nil {
		return fmt.Errorf("wait for another primary: %w", err)
	}
	cfg.Addr = strings.Join(slices.DeleteFunc(strings.Split(cfg.Addr, ","),
		func(addr string) bool { return addr == than.Addr() }), ",") // the old primary may not answer
	others.AdminDSN = cfg.FormatDSN()
	return await(ctx, 60*time.Second, "for another primary", func(ctx context.Context) error {
		_, err := primaryOf(ctx, others)
		return err
	})
}

// awaitNone waits until no member is the primary. The remaining one misses the others only after five seconds, and
// until then "migrate group reboot" considers the group up.
func awaitNone(ctx context.Context, l *system.System) error {
	return await(ctx, 30*time.Second, "until the majority is missed", func(ctx context.Context) error {
		addr, err := primaryOf(ctx, l.Cluster.Group)
		if errors.Is(err, mysqldb.ErrNoPrimary) {
			return nil
		}
		return cmp.Or(err, fmt.Errorf("%s is the primary", addr))
	})
}

// redisMaster returns the master according to the Sentinels.
func redisMaster(ctx context.Context, l *system.System) (*servers.Redis, error) {
	addr, err := redisdb.Master(ctx, l.Cluster.Redis.Sentinels[0].Addr(), servers.RedisMaster)
	if err != nil {
		return nil, fmt.Errorf("find the master of Redis: %w", err)
	}
	for _, s := range l.Cluster.Redis.Servers {
		if s.Addr() == addr {
			return s, nil
		}
	}
	return nil, fmt.Errorf("find the master of Redis: %s is none of its servers", addr)
}

// awaitOtherRedis waits until the Sentinels name another master.
func awaitOtherRedis(ctx context.Context, l *system.System, than *servers.Redis) error {
	return await(ctx, 60*time.Second, "for another master of Redis", func(ctx context.Context) error {
		master, err := redisMaster(ctx, l)
		if err == nil && master == than {
			err = fmt.Errorf("%s is the master", than.Addr())
		}
		return err
	})
}

func killLeader(ctx context.Context, l *system.System) error {
	leader, err := l.Cluster.ZooKeeper.Leader(ctx)
	if err != nil {
		return err
	}
	return leader.Kill()
}

// restartMembers starts the MySQL servers that are down.
func restartMembers(ctx context.Context, l *system.System) error {
	var errs []error
	for _, m := range l.Cluster.MySQL.Members {
		if !m.Running() {
			errs = append(errs, m.Restart(ctx))
		}
	}
	return errors.Join(errs...)
}

// restartZooKeepers starts the ZooKeeper servers that are down, and waits until they serve.
func restartZooKeepers(ctx context.Context, l *system.System) error {
	var errs []error
	for _, z := range l.Cluster.ZooKeeper.Servers {
		if !z.Running() {
			errs = append(errs, z.Launch())
		}
	}
	for _, z := range l.Cluster.ZooKeeper.Servers {
		errs = append(errs, z.AwaitReady(ctx))
	}
	return errors.Join(errs...)
}
