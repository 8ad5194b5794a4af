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

// failover is a row of the acts on a cluster. Its parts get the processes that who chose as the act was armed; undo and
// await may be nil. It has struck once await returns.
type failover struct {
	who             func(c cluster, ctx context.Context) ([]system.Process, error)
	do, undo, await func(c cluster, ctx context.Context, struck []system.Process) error
}

// cluster is the system of an act on a cluster.
type cluster struct{ *system.System }

// onClusters are the kinds of acts on a cluster.
var onClusters = []Kind{
	// A member that starts before the group has expelled it retries for a minute and a half: wait for another primary.
	{Name: "primary-killed", in: failover{cluster.primary, cluster.kill, cluster.repair, cluster.otherPrimary}.act},
	{Name: "primary-frozen", in: failover{cluster.primary, cluster.pause, cluster.repair, cluster.otherPrimary}.act},
	{Name: "primary-switched", in: failover{cluster.secondary, cluster.promote, nil, nil}.act},
	// From the other members, not from its clients.
	{Name: "primary-cut-off", in: failover{cluster.primary, cluster.cutOff, cluster.cutOn, cluster.otherPrimary}.act},
	{Name: "secondary-killed", in: failover{cluster.secondary, cluster.kill, cluster.repair, nil}.act},
	{
		Name: "two-secondaries-killed",
		in:   failover{cluster.secondaries, cluster.kill, cluster.reboot, cluster.noPrimary}.act,
	},
	{Name: "zookeeper-leader-killed", in: failover{cluster.leader, cluster.kill, cluster.repair, nil}.act},
	{Name: "zookeeper-without-quorum", in: failover{cluster.quorum, cluster.kill, cluster.repair, nil}.act},
	{Name: "redis-failed-over", in: failover{cluster.master, cluster.kill, cluster.repair, cluster.otherMaster}.act},
	{
		Name: "primary+zookeeper-leader-killed",
		in:   failover{cluster.primaryAndLeader, cluster.kill, cluster.repair, cluster.otherPrimary}.act,
	},
	{Name: "rolling-restart", in: failover{cluster.everyone, cluster.restart, nil, nil}.act},
}

// act makes it an act.
func (f failover) act(l *system.System, _ Action) (*Act, error) {
	c := cluster{l}
	var struck []system.Process
	return &Act{
		Do: func(ctx context.Context) (err error) {
			if struck, err = f.who(c, ctx); err != nil {
				return err
			}
			err = f.do(c, ctx, struck)
			if f.await != nil {
				err = errors.Join(err, f.await(c, ctx, struck))
			}
			return err
		},
		Undo: func(ctx context.Context) error {
			if f.undo == nil {
				return nil
			}
			return f.undo(c, ctx, struck)
		},
	}, nil
}

// each calls do with each process.
func each(all []system.Process, do func(system.Process) error) error {
	var errs []error
	for _, p := range all {
		errs = append(errs, do(p))
	}
	return errors.Join(errs...)
}

// processes returns servers of a kind as processes.
func processes[P system.Process](all ...P) (some []system.Process) {
	for _, p := range all {
		some = append(some, p)
	}
	return some
}

// members returns the group's members, beginning with the primary.
func (c cluster) members(ctx context.Context) ([]system.Process, error) {
	addr, err := primaryOf(ctx, c.Cluster.Group)
	if err != nil {
		return nil, err
	}
	all := c.Cluster.MySQL.Members
	i := slices.Index(all, c.Cluster.MySQL.Member(addr))
	return processes(slices.Concat(all[i:], all[:i])...), nil
}

func (c cluster) primary(ctx context.Context) ([]system.Process, error) {
	all, err := c.members(ctx)
	return all[:min(1, len(all))], err
}

func (c cluster) secondaries(ctx context.Context) ([]system.Process, error) {
	all, err := c.members(ctx)
	return all[min(1, len(all)):], err
}

func (c cluster) secondary(ctx context.Context) ([]system.Process, error) {
	all, err := c.secondaries(ctx)
	return all[:min(1, len(all))], err
}

func (c cluster) leader(ctx context.Context) ([]system.Process, error) {
	leader, err := c.Cluster.ZooKeeper.Leader(ctx)
	return processes(leader), err
}

// quorum is the leader of ZooKeeper and another server.
func (c cluster) quorum(ctx context.Context) ([]system.Process, error) {
	leader, err := c.Cluster.ZooKeeper.Leader(ctx)
	if err != nil {
		return nil, err
	}
	follower, err := c.Cluster.ZooKeeper.Follower(ctx)
	return processes(leader, follower), err
}

func (c cluster) primaryAndLeader(ctx context.Context) ([]system.Process, error) {
	primary, err := c.primary(ctx)
	if err != nil {
		return nil, err
	}
	leader, err := c.leader(ctx)
	return append(primary, leader...), err
}

// master is the master of Redis according to the Sentinels.
func (c cluster) master(ctx context.Context) ([]system.Process, error) {
	redis := c.Cluster.Redis
	addr, err := redisdb.Master(ctx, redis.Sentinels[0].Addr(), servers.RedisMaster)
	if err != nil {
		return nil, fmt.Errorf("find the master of Redis: %w", err)
	}
	i := slices.IndexFunc(redis.Servers, func(s *servers.Redis) bool { return s.Addr() == addr })
	if i < 0 {
		return nil, fmt.Errorf("find the master of Redis: %s is none of its servers", addr)
	}
	return processes(redis.Servers[i]), nil
}

// everyone is every process, in the order of a rolling restart.
func (c cluster) everyone(context.Context) ([]system.Process, error) {
	redis := c.Cluster.Redis
	return slices.Concat(processes(c.Cluster.MySQL.Members...), processes(c.Cluster.ZooKeeper.Servers...),
		processes(redis.Sentinels...), processes(redis.Servers[1], redis.Servers[0]), processes(c.Replicas()...)), nil
}

func (c cluster) kill(_ context.Context, all []system.Process) error {
	return each(all, system.Process.Kill)
}

func (c cluster) pause(_ context.Context, all []system.Process) error {
	return each(all, system.Process.Pause)
}

func (c cluster) repair(ctx context.Context, all []system.Process) error {
	return each(all, func(p system.Process) error { return system.Repair(ctx, p) })
}

// restart stops and starts the processes, one after the other, and waits until a cluster of databases is whole again
// each time, and until all replicas are ready.
func (c cluster) restart(ctx context.Context, all []system.Process) error {
	for _, p := range all {
		err := p.Restart(ctx)
		switch p.(type) {
		case *servers.MySQL:
			err = errors.Join(err, awaitWhole(ctx, c.System))
		case *system.Service:
			err = errors.Join(err, awaitReady(ctx, c.System))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// promote makes a secondary the primary, as planned.
func (c cluster) promote(ctx context.Context, to []system.Process) error {
	m := to[0].(*servers.MySQL)
	return m.Exec(ctx, "DO group_replication_set_as_primary((SELECT member_id FROM"+
		" performance_schema.replication_group_members WHERE CONCAT(member_host, ':', member_port) = '"+m.Addr()+"'))")
}

func (c cluster) cutOff(ctx context.Context, member []system.Process) error {
	return c.CutOff(ctx, c.place(member[0]))
}

func (c cluster) cutOn(ctx context.Context, member []system.Process) error {
	return c.CutOn(ctx, c.place(member[0]))
}

func (c cluster) place(member system.Process) int {
	return slices.Index(processes(c.Cluster.MySQL.Members...), member)
}

// reboot is the part of an operator once the majority was lost.
func (c cluster) reboot(ctx context.Context, members []system.Process) error {
	if err := c.repair(ctx, members); err != nil {
		return err
	}
	_, err := mysqlgroup.Reboot(ctx, c.Cluster.Group, false)
	return err
}

// otherPrimary waits until another member is the primary.
func (c cluster) otherPrimary(ctx context.Context, than []system.Process) error {
	others := c.Cluster.Group
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
func (c cluster) noPrimary(ctx context.Context, _ []system.Process) error {
	return await(ctx, 30*time.Second, "until the majority is missed", func(ctx context.Context) error {
		addr, err := primaryOf(ctx, c.Cluster.Group)
		if errors.Is(err, mysqldb.ErrNoPrimary) {
			return nil
		}
		return cmp.Or(err, fmt.Errorf("%s is the primary", addr))
	})
}

// otherMaster waits until the Sentinels name another master.
func (c cluster) otherMaster(ctx context.Context, than []system.Process) error {
	return await(ctx, 60*time.Second, "for another master of Redis", func(ctx context.Context) error {
		now, err := c.master(ctx)
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
