package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/lab"
	"orderstock/loadtest/trial"
	"orderstock/pkg/mysqldb"
	"orderstock/pkg/mysqlgroup"
	"orderstock/pkg/redisdb"
	"orderstock/pkg/servers"
)

// The faults of a cluster (lab.StartCluster). They strike alone.
const (
	PrimaryKilled      = "primary-killed"
	PrimaryFrozen      = "primary-frozen"   // thawed 5 s after another took over
	PrimarySwitched    = "primary-switched" // a planned switch, by group_replication_set_as_primary
	PrimaryCutOff      = "primary-cut-off"  // from the other members, not from its clients
	SecondaryKilled    = "secondary-killed"
	MajorityKilled     = "two-secondaries-killed" // followed by migrate group reboot
	LeaderKilled       = "zookeeper-leader-killed"
	QuorumLost         = "zookeeper-without-quorum" // for 15 s
	RedisFailedOver    = "redis-failed-over"
	PrimaryAndLeader   = "primary+zookeeper-leader-killed"
	RollingRestart     = "rolling-restart" // of every process, one after the other
	writesAgainWithin  = 15 * time.Second
	quorumLostFor      = 15 * time.Second
	thawAfter          = 5 * time.Second
	clusterSettleLimit = 2 * time.Minute // for a member to be in the group again
)

// clusterFaults lists the faults of a cluster.
var clusterFaults = []string{
	PrimaryKilled, PrimaryFrozen, PrimarySwitched, PrimaryCutOff, SecondaryKilled, MajorityKilled, LeaderKilled,
	QuorumLost, RedisFailedOver, PrimaryAndLeader, RollingRestart,
}

// clusterLoad returns a load that lasts until the cluster takes writes again, or every process has been restarted.
func clusterLoad(fault string) fire.Config {
	load := fire.Config{Orders: 600, Rate: 20, Concurrency: 128, Mix: fire.Mix{Cancel: 0.1}}
	switch fault {
	case MajorityKilled: // a member that starts gives up joining after a minute
		load.Orders = 2200
	case QuorumLost:
		load.Orders = 800
	case RollingRestart: // it ends when all is restarted
		load.Orders, load.Mix.Stock, load.Insist = 12_000, 1700, writesAgainWithin
	}
	return load
}

// movesPrimary lists the faults after which another member is the primary.
var movesPrimary = []string{PrimaryKilled, PrimaryFrozen, PrimarySwitched, PrimaryCutOff, PrimaryAndLeader}

// clusterEnv is added to Env for the services of a cluster. A failover takes about ten seconds, and no order may be
// given up during it. A commit waits for a second member, so a try gets more time than in Env.
var clusterEnv = map[string]string{
	"CANCEL_AFTER": "60s", "ZOOKEEPER_SESSION_TIMEOUT": "4s", "STOCK_TIMEOUT": "2s", "LOCK_TIMEOUT": "1500ms",
	"CONFIRM_BUDGET": "2s", "PENDING_LIMIT": "3s",
}

// ClusterCells returns the cells of a cluster.
func ClusterCells() []Cell {
	var all []Cell
	for _, fault := range clusterFaults {
		all = append(all, Cell{Step: Around, When: During, Fault: fault, Cluster: true})
	}
	return all
}

// clustered is a fault of a cluster. Once the cluster can heal by itself, it must take writes again within
// writesAgainWithin. Undo restarts the processes that are still down.
type clustered struct {
	trial.Simple
	lab *lab.Lab
	// mend, if not nil, does the operator's part before the cluster can heal.
	mend func(ctx context.Context) error

	healable time.Time
	primary  *servers.MySQL // when it struck
}

// newClustered returns the fault of that name, or nil if it is none of clusterFaults.
func newClustered(l *lab.Lab, name string) trial.Act {
	f := &clustered{lab: l, Simple: trial.Simple{For: time.Second}}
	switch name {
	case PrimaryKilled:
		// A member that starts before the group has expelled it retries for a minute and a half.
		f.Do = func(ctx context.Context) error { return errors.Join(f.primary.Kill(), f.awaitOther(ctx)) }
		f.Undo = f.restartPrimary
	case PrimaryFrozen:
		f.Do = func(ctx context.Context) error {
			if err := f.primary.Pause(); err != nil {
				return err
			}
			if err := f.awaitOther(ctx); err != nil {
				return err
			}
			return trial.Sleep(ctx, thawAfter)
		}
		f.Undo = func(context.Context) error { return f.primary.Resume() }
	case PrimarySwitched:
		f.Do = func(ctx context.Context) error {
			return f.primary.Exec(ctx, "DO group_replication_set_as_primary((SELECT member_id FROM"+
				" performance_schema.replication_group_members WHERE CONCAT(member_host, ':', member_port) = '"+
				f.secondary().Addr()+"'))")
		}
	case PrimaryCutOff:
		f.Do = func(ctx context.Context) error {
			if err := l.CutOff(ctx, f.place()); err != nil {
				return err
			}
			return f.awaitOther(ctx)
		}
		f.For = 5 * time.Second
		f.Undo = func(ctx context.Context) error { return l.CutOn(ctx, f.place()) }
	case SecondaryKilled:
		f.Do = func(context.Context) error { return f.secondary().Kill() }
		f.For = 8 * time.Second
		f.Undo = f.restartMembers
	case MajorityKilled:
		f.Do = func(context.Context) error {
			var errs []error
			for _, m := range l.Cluster.MySQL.Members {
				if m != f.primary {
					errs = append(errs, m.Kill())
				}
			}
			return errors.Join(errs...)
		}
		f.For = 3 * time.Second
		f.mend = func(ctx context.Context) error {
			if err := errors.Join(f.awaitNone(ctx), f.restartMembers(ctx)); err != nil {
				return err
			}
			_, err := mysqlgroup.Reboot(ctx, l.Cluster.Group, false)
			return err
		}
	case LeaderKilled:
		f.Do = f.killLeader
		f.Undo = f.restartZooKeepers
	case QuorumLost:
		f.Do = func(ctx context.Context) error {
			if err := f.killLeader(ctx); err != nil {
				return err
			}
			for _, z := range l.Cluster.ZooKeeper.Servers {
				if z.Running() {
					return z.Kill()
				}
			}
			return nil
		}
		f.For = quorumLostFor
		f.mend = f.restartZooKeepers
	case RedisFailedOver:
		var master *servers.Redis
		f.Do = func(ctx context.Context) (err error) {
			if master, err = redisMaster(ctx, l); err != nil {
				return err
			}
			return errors.Join(master.Kill(), awaitOtherRedis(ctx, l, master))
		}
		f.For = 5 * time.Second
		f.Undo = func(ctx context.Context) error { return master.Restart(ctx) }
	case PrimaryAndLeader:
		f.Do = func(ctx context.Context) error {
			return errors.Join(f.primary.Kill(), f.killLeader(ctx), f.awaitOther(ctx))
		}
		f.Undo = func(ctx context.Context) error {
			return errors.Join(f.restartPrimary(ctx), f.restartZooKeepers(ctx))
		}
	case RollingRestart:
		f.Do = f.rollingRestart
	default:
		return nil
	}
	return f
}

// Arm implements trial.Act.
func (f *clustered) Arm(ctx context.Context) (err error) {
	if f.primary, err = primaryOf(ctx, f.lab); err != nil {
		return err
	}
	f.healable = time.Now()
	return f.Simple.Arm(ctx)
}

// Heal implements trial.Act. It returns once the cluster is whole again.
func (f *clustered) Heal(ctx context.Context) error {
	if f.mend != nil {
		if err := f.mend(ctx); err != nil {
			return err
		}
		f.healable = time.Now()
	}
	if err := f.Simple.Heal(ctx); err != nil {
		return err
	}
	return awaitWhole(ctx, f.lab)
}

// awaitWhole returns once all MySQL servers are in the group. A member that was cut off or frozen, and gave up, rejoins
// by "migrate group up".
func awaitWhole(ctx context.Context, l *lab.Lab) error {
	ctx, cancel := context.WithTimeout(ctx, clusterSettleLimit)
	defer cancel()
	began := time.Now()
	for {
		members, err := mysqlgroup.Read(ctx, l.Cluster.Group)
		if err == nil {
			err = mysqlgroup.Whole(members)
		}
		if err == nil {
			return nil
		}
		if time.Since(began) > 15*time.Second {
			return mysqlgroup.Up(ctx, l.Cluster.Group)
		}
		if e := trial.Sleep(ctx, 300*time.Millisecond); e != nil {
			return errors.Join(e, err)
		}
	}
}

// primaryOf returns the member that takes writes.
func primaryOf(ctx context.Context, l *lab.Lab) (*servers.MySQL, error) {
	members, err := mysqlgroup.Read(ctx, l.Cluster.Group)
	if err != nil {
		return nil, err
	}
	for _, m := range members {
		if m.Primary() {
			return l.Cluster.MySQL.Member(m.Addr), nil
		}
	}
	return nil, fmt.Errorf("find the primary: %w", mysqldb.ErrNoPrimary)
}

func (f *clustered) place() int { return slices.Index(f.lab.Cluster.MySQL.Members, f.primary) }

// secondary returns a member that is not the primary.
func (f *clustered) secondary() *servers.MySQL {
	return f.lab.Cluster.MySQL.Members[(f.place()+1)%len(f.lab.Cluster.MySQL.Members)]
}

// awaitOther waits until another member is the primary.
func (f *clustered) awaitOther(ctx context.Context) error {
	others := f.lab.Cluster.Group
	cfg, err := mysql.ParseDSN(others.AdminDSN)
	if err != nil {
		return fmt.Errorf("wait for another primary: %w", err)
	}
	cfg.Addr = strings.Join(slices.DeleteFunc(strings.Split(cfg.Addr, ","),
		func(addr string) bool { return addr == f.primary.Addr() }), ",") // the old primary may not answer
	others.AdminDSN = cfg.FormatDSN()
	return await(ctx, 60*time.Second, "for another primary", func(ctx context.Context) (bool, error) {
		return hasPrimary(ctx, others)
	})
}

// awaitNone waits until no member is the primary. The remaining one misses the others only after five seconds, and
// until then "migrate group reboot" considers the group up.
func (f *clustered) awaitNone(ctx context.Context) error {
	return await(ctx, 30*time.Second, "until the majority is missed", func(ctx context.Context) (bool, error) {
		has, err := hasPrimary(ctx, f.lab.Cluster.Group)
		return !has, err
	})
}

func hasPrimary(ctx context.Context, g mysqlgroup.Config) (bool, error) {
	members, err := mysqlgroup.Read(ctx, g)
	return slices.ContainsFunc(members, func(m mysqlgroup.Member) bool { return m.Primary() }), err
}

// await calls done until it returns true or an error, for at most limit.
func await(ctx context.Context, limit time.Duration, what string, done func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		if is, err := done(ctx); is || err != nil {
			return err
		}
		if err := trial.Sleep(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("wait %s: %w", what, err)
		}
	}
}

// redisMaster returns the master according to the Sentinels.
func redisMaster(ctx context.Context, l *lab.Lab) (*servers.Redis, error) {
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
func awaitOtherRedis(ctx context.Context, l *lab.Lab, than *servers.Redis) error {
	return await(ctx, 60*time.Second, "for another master of Redis", func(ctx context.Context) (bool, error) {
		master, err := redisMaster(ctx, l)
		return err == nil && master != than, nil
	})
}

func (f *clustered) restartPrimary(ctx context.Context) error { return f.primary.Restart(ctx) }

func (f *clustered) killLeader(ctx context.Context) error {
	leader, err := f.lab.Cluster.ZooKeeper.Leader(ctx)
	if err != nil {
		return err
	}
	return leader.Kill()
}

// restartMembers starts the MySQL servers that are down.
func (f *clustered) restartMembers(ctx context.Context) error {
	var errs []error
	for _, m := range f.lab.Cluster.MySQL.Members {
		if !m.Running() {
			errs = append(errs, m.Restart(ctx))
		}
	}
	return errors.Join(errs...)
}

// restartZooKeepers starts the ZooKeeper servers that are down, and waits until they serve.
func (f *clustered) restartZooKeepers(ctx context.Context) error {
	var errs []error
	for _, z := range f.lab.Cluster.ZooKeeper.Servers {
		if !z.Running() {
			errs = append(errs, z.Launch())
		}
	}
	for _, z := range f.lab.Cluster.ZooKeeper.Servers {
		errs = append(errs, z.AwaitReady(ctx))
	}
	return errors.Join(errs...)
}

// rollingRestart stops and starts every process, one after the other, and waits each time until all are back.
func (f *clustered) rollingRestart(ctx context.Context) error {
	for _, m := range f.lab.Cluster.MySQL.Members {
		if err := errors.Join(m.Restart(ctx), awaitWhole(ctx, f.lab)); err != nil {
			return err
		}
	}
	for _, z := range f.lab.Cluster.ZooKeeper.Servers {
		if err := z.Restart(ctx); err != nil {
			return err
		}
	}
	for _, s := range slices.Concat(f.lab.Cluster.Redis.Sentinels, []*servers.Server{
		f.lab.Cluster.Redis.Servers[1].Server, f.lab.Cluster.Redis.Servers[0].Server,
	}) {
		if err := s.Restart(ctx); err != nil {
			return err
		}
	}
	for _, r := range f.lab.Replicas() {
		if err := errors.Join(r.Restart(ctx), awaitReady(ctx, f.lab)); err != nil {
			return err
		}
	}
	return nil
}

// writesAgain returns the longest time without an acknowledged write between healable and the last call. Confirmed,
// rejected and cancelled are acknowledged writes. some reports whether there was any.
func writesAgain(h *history.History, healable time.Time) (longest time.Duration, some bool) {
	var at []time.Duration // after the start
	var last time.Duration
	for _, c := range h.Calls {
		last = max(last, c.Sent)
		switch c.Status {
		case history.Confirmed, history.Rejected, history.Cancelled:
			at = append(at, c.Done)
		}
	}
	slices.Sort(at)
	from := healable.Sub(h.Started)
	some = len(at) > 0 && at[len(at)-1] > from
	for _, t := range append(at, max(last, from)) {
		if t < from {
			continue
		}
		longest, from = max(longest, t-from), t
	}
	return longest, some
}
