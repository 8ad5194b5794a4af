package faults

import (
	"context"
	"errors"
	"slices"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/system"
	"orderstock/loadtest/trial"
	"orderstock/pkg/mysqlgroup"
	"orderstock/pkg/servers"
)

// The faults of a cluster (system.StartCluster). They strike alone.
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
	lab *system.System
	// mend, if not nil, does the operator's part before the cluster can heal.
	mend func(ctx context.Context) error

	healable time.Time
	primary  *servers.MySQL // when it struck
}

// newClustered returns the fault of that name, or nil if it is none of clusterFaults.
func newClustered(l *system.System, name string) trial.Act {
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
func (f *clustered) Arm(ctx context.Context) error {
	addr, err := primaryOf(ctx, f.lab.Cluster.Group)
	if err != nil {
		return err
	}
	f.primary = f.lab.Cluster.MySQL.Member(addr)
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
