package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
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

// failover returns the maker of acts on a cluster. undo and await may be nil.
func failover(
	who func(context.Context, *system.System) ([]system.Process, error),
	do, undo, await func(context.Context, *system.System, []system.Process) error,
) maker {
	return deed[system.Process]{
		who: func(ctx context.Context, l *system.System, _ Action) ([]system.Process, error) { return who(ctx, l) },
		do:  do, undo: undo, await: await,
	}.act
}

// onClusters are the kinds of acts on a cluster.
var onClusters = []Kind{
	// A member that starts before the group has expelled it retries for a minute and a half: wait for another primary.
	{Name: "primary-killed", in: failover(primary, each(kill), each(system.Repair), otherPrimary)},
	{Name: "primary-frozen", in: failover(primary, each(pause), each(system.Repair), otherPrimary)},
	{Name: "primary-switched", in: failover(secondary, each(promote), nil, nil)},
	// From the other members, not from its clients.
	{Name: "primary-cut-off", in: failover(primary, cutOff, cutOn, otherPrimary)},
	{Name: "secondary-killed", in: failover(secondary, each(kill), each(system.Repair), nil)},
	{Name: "two-secondaries-killed", in: failover(secondaries, each(kill), reboot, noPrimary)},
	{Name: "zookeeper-leader-killed", in: failover(leader, each(kill), each(system.Repair), nil)},
	{Name: "zookeeper-without-quorum", in: failover(quorum, each(kill), each(system.Repair), nil)},
	{Name: "redis-failed-over", in: failover(master, each(kill), each(system.Repair), otherMaster)},
	{
		Name: "primary+zookeeper-leader-killed",
		in:   failover(primaryAndLeader, each(kill), each(system.Repair), otherPrimary),
	},
	{Name: "rolling-restart", in: failover(everyone, restartAll, nil, nil)},
}

// processes returns servers of a kind as processes.
func processes[P system.Process](all ...P) (some []system.Process) {
	for _, p := range all {
		some = append(some, p)
	}
	return some
}

// members returns the group's members, beginning with the primary.
func members(ctx context.Context, l *system.System) ([]system.Process, error) {
	addr, err := primaryOf(ctx, l.Cluster.Group)
	if err != nil {
		return nil, err
	}
	all := l.Cluster.MySQL.Members
	i := slices.Index(all, l.Cluster.MySQL.Member(addr))
	return processes(slices.Concat(all[i:], all[:i])...), nil
}

func primary(ctx context.Context, l *system.System) ([]system.Process, error) {
	all, err := members(ctx, l)
	return all[:min(1, len(all))], err
}

func secondaries(ctx context.Context, l *system.System) ([]system.Process, error) {
	all, err := members(ctx, l)
	return all[min(1, len(all)):], err
}

func secondary(ctx context.Context, l *system.System) ([]system.Process, error) {
	all, err := secondaries(ctx, l)
	return all[:min(1, len(all))], err
}

func leader(ctx context.Context, l *system.System) ([]system.Process, error) {
	leader, err := l.Cluster.ZooKeeper.Leader(ctx)
	return processes(leader), err
}

// quorum is the leader of ZooKeeper and another server.
func quorum(ctx context.Context, l *system.System) ([]system.Process, error) {
	leader, err := l.Cluster.ZooKeeper.Leader(ctx)
	if err != nil {
		return nil, err
	}
	follower, err := l.Cluster.ZooKeeper.Follower(ctx)
	return processes(leader, follower), err
}

func primaryAndLeader(ctx context.Context, l *system.System) ([]system.Process, error) {
	primary, err := primary(ctx, l)
	if err != nil {
		return nil, err
	}
	leader, err := leader(ctx, l)
	return append(primary, leader...), err
}

// master is the master of Redis according to the Sentinels.
func master(ctx context.Context, l *system.System) ([]system.Process, error) {
	redis := l.Cluster.Redis
	sentinel := redisdb.Open(redisdb.Server{Addrs: []string{redis.Sentinels[0].Addr()}}, 5*time.Second)
	defer func() { _ = sentinel.Close() }()
	at, err := sentinel.Do(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", servers.RedisMaster).StringSlice()
	if err != nil {
		return nil, fmt.Errorf("find the master of Redis: %w", err)
	}
	addr := net.JoinHostPort(at[0], at[1])
	i := slices.IndexFunc(redis.Servers, func(s *servers.Redis) bool { return s.Addr() == addr })
	if i < 0 {
		return nil, fmt.Errorf("find the master of Redis: %s is none of its servers", addr)
	}
	return processes(redis.Servers[i]), nil
}

// everyone is every process, in the order of a rolling restart.
func everyone(_ context.Context, l *system.System) ([]system.Process, error) {
	redis := l.Cluster.Redis
	return slices.Concat(processes(l.Cluster.MySQL.Members...), processes(l.Cluster.ZooKeeper.Servers...),
		processes(redis.Sentinels...), processes(redis.Servers[1], redis.Servers[0]), processes(l.Replicas()...)), nil
}

// restartAll stops and starts the processes, one after the other, and waits until a cluster of databases is whole again
// each time, and until all replicas are ready.
func restartAll(ctx context.Context, l *system.System, all []system.Process) error {
	for _, p := range all {
		err := p.Restart(ctx)
		switch p.(type) {
		case *servers.MySQL:
			err = errors.Join(err, awaitWhole(ctx, l))
		case *system.Service:
			err = errors.Join(err, awaitReady(ctx, l))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// promote makes a secondary the primary, as planned.
func promote(ctx context.Context, to system.Process) error {
	m := to.(*servers.MySQL)
	return m.Exec(ctx, "DO group_replication_set_as_primary((SELECT member_id FROM"+
		" performance_schema.replication_group_members WHERE CONCAT(member_host, ':', member_port) = '"+m.Addr()+"'))")
}

func cutOff(ctx context.Context, l *system.System, member []system.Process) error {
	return l.CutOff(ctx, place(l, member[0]))
}

func cutOn(ctx context.Context, l *system.System, member []system.Process) error {
	return l.CutOn(ctx, place(l, member[0]))
}

func place(l *system.System, member system.Process) int {
	return slices.Index(processes(l.Cluster.MySQL.Members...), member)
}

// reboot is the part of an operator once the majority was lost.
func reboot(ctx context.Context, l *system.System, members []system.Process) error {
	if err := each(system.Repair)(ctx, l, members); err != nil {
		return err
	}
	_, err := mysqlgroup.Reboot(ctx, l.Cluster.Group, false)
	return err
}

// otherPrimary waits until another member is the primary.
func otherPrimary(ctx context.Context, l *system.System, than []system.Process) error {
	others := l.Cluster.Group
	cfg, err := mysql.ParseDSN(others.AdminDSN)
	if err != nil {
		return fmt.Errorf("wait for another primary: %w", err)
	}
	old := than[0].(*servers.MySQL).Addr() // it may not answer
	cfg.Addr = strings.Join(slices.DeleteFunc(strings.Split(cfg.Addr, ","), func(a string) bool { return a == old }), ",")
	others.AdminDSN = cfg.FormatDSN()
	return await(ctx, 60*time.Second, "for another primary", func(ctx context.Context) error {
		_, err := primaryOf(ctx, others)
		return err
	})
}

// noPrimary waits until no member is the primary. The remaining one misses the others only after five seconds, and
// until then "migrate group reboot" considers the group up.
func noPrimary(ctx context.Context, l *system.System, _ []system.Process) error {
	return await(ctx, 30*time.Second, "until the majority is missed", func(ctx context.Context) error {
		addr, err := primaryOf(ctx, l.Cluster.Group)
		if errors.Is(err, mysqldb.ErrNoPrimary) {
			return nil
		}
		return cmp.Or(err, fmt.Errorf("%s is the primary", addr))
	})
}

// otherMaster waits until the Sentinels name another master.
func otherMaster(ctx context.Context, l *system.System, than []system.Process) error {
	return await(ctx, 60*time.Second, "for another master of Redis", func(ctx context.Context) error {
		now, err := master(ctx, l)
		if err == nil && now[0] == than[0] {
			err = fmt.Errorf("%s is the master", now[0].Name())
		}
		return err
	})
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
