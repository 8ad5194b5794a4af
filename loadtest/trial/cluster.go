package trial

import (
	"context"
	"errors"
	"time"

	"orderstock/loadtest/system"
	"orderstock/pkg/mysqlgroup"
	"orderstock/pkg/servers"
)

// thawAfter is how long a frozen primary stays frozen after another took over.
const thawAfter = 5 * time.Second

// onPrimary returns an act on the primary of the group, as it is when the act is armed. undo may be nil.
func onPrimary(l *system.System, do, undo func(ctx context.Context, primary *servers.MySQL) error) (*Act, error) {
	var primary *servers.MySQL
	act := &Act{Do: func(ctx context.Context) error {
		addr, err := primaryOf(ctx, l.Cluster.Group)
		if err != nil {
			return err
		}
		primary = l.Cluster.MySQL.Member(addr)
		return do(ctx, primary)
	}}
	if undo != nil {
		act.Undo = func(ctx context.Context) error { return undo(ctx, primary) }
	}
	return act, nil
}

func primaryKilled(l *system.System, _ Action) (*Act, error) {
	return onPrimary(l, func(ctx context.Context, primary *servers.MySQL) error {
		// A member that starts before the group has expelled it retries for a minute and a half.
		return errors.Join(primary.Kill(), awaitOther(ctx, l, primary))
	}, restartMember)
}

func restartMember(ctx context.Context, m *servers.MySQL) error { return m.Restart(ctx) }

func primaryFrozen(l *system.System, _ Action) (*Act, error) {
	return onPrimary(l, func(ctx context.Context, primary *servers.MySQL) error {
		if err := primary.Pause(); err != nil {
			return err
		}
		if err := awaitOther(ctx, l, primary); err != nil {
			return err
		}
		return Sleep(ctx, thawAfter)
	}, func(_ context.Context, primary *servers.MySQL) error { return primary.Resume() })
}

func primarySwitched(l *system.System, _ Action) (*Act, error) {
	return onPrimary(l, func(ctx context.Context, primary *servers.MySQL) error {
		return primary.Exec(ctx, "DO group_replication_set_as_primary((SELECT member_id FROM"+
			" performance_schema.replication_group_members WHERE CONCAT(member_host, ':', member_port) = '"+
			secondary(l, primary).Addr()+"'))")
	}, nil)
}

func primaryCutOff(l *system.System, _ Action) (*Act, error) {
	return onPrimary(l, func(ctx context.Context, primary *servers.MySQL) error {
		return errors.Join(l.CutOff(ctx, place(l, primary)), awaitOther(ctx, l, primary))
	}, func(ctx context.Context, primary *servers.MySQL) error { return l.CutOn(ctx, place(l, primary)) })
}

func secondaryKilled(l *system.System, _ Action) (*Act, error) {
	return onPrimary(l, func(_ context.Context, primary *servers.MySQL) error {
		return secondary(l, primary).Kill()
	}, func(ctx context.Context, _ *servers.MySQL) error { return restartMembers(ctx, l) })
}

func majorityKilled(l *system.System, _ Action) (*Act, error) {
	return onPrimary(l, func(_ context.Context, primary *servers.MySQL) error {
		var errs []error
		for _, m := range l.Cluster.MySQL.Members {
			if m != primary {
				errs = append(errs, m.Kill())
			}
		}
		return errors.Join(errs...)
	}, func(ctx context.Context, _ *servers.MySQL) error { // the operator's part
		if err := errors.Join(awaitNone(ctx, l), restartMembers(ctx, l)); err != nil {
			return err
		}
		_, err := mysqlgroup.Reboot(ctx, l.Cluster.Group, false)
		return err
	})
}

func leaderKilled(l *system.System, _ Action) (*Act, error) {
	return &Act{
		Do:   func(ctx context.Context) error { return killLeader(ctx, l) },
		Undo: func(ctx context.Context) error { return restartZooKeepers(ctx, l) },
	}, nil
}

func quorumLost(l *system.System, _ Action) (*Act, error) {
	return &Act{
		Do: func(ctx context.Context) error {
			if err := killLeader(ctx, l); err != nil {
				return err
			}
			for _, z := range l.Cluster.ZooKeeper.Servers {
				if z.Running() {
					return z.Kill()
				}
			}
			return nil
		},
		Undo: func(ctx context.Context) error { return restartZooKeepers(ctx, l) },
	}, nil
}

func redisFailedOver(l *system.System, _ Action) (*Act, error) {
	var master *servers.Redis
	return &Act{
		Do: func(ctx context.Context) (err error) {
			if master, err = redisMaster(ctx, l); err != nil {
				return err
			}
			return errors.Join(master.Kill(), awaitOtherRedis(ctx, l, master))
		},
		Undo: func(ctx context.Context) error { return master.Restart(ctx) },
	}, nil
}

func primaryAndLeaderKilled(l *system.System, _ Action) (*Act, error) {
	return onPrimary(l, func(ctx context.Context, primary *servers.MySQL) error {
		return errors.Join(primary.Kill(), killLeader(ctx, l), awaitOther(ctx, l, primary))
	}, func(ctx context.Context, primary *servers.MySQL) error {
		return errors.Join(primary.Restart(ctx), restartZooKeepers(ctx, l))
	})
}

// rollingRestart stops and starts every process, one after the other, and waits each time until all are back.
func rollingRestart(l *system.System, _ Action) (*Act, error) {
	return &Act{Do: func(ctx context.Context) error {
		for _, m := range l.Cluster.MySQL.Members {
			if err := errors.Join(m.Restart(ctx), awaitWhole(ctx, l)); err != nil {
				return err
			}
		}
		for _, z := range l.Cluster.ZooKeeper.Servers {
			if err := z.Restart(ctx); err != nil {
				return err
			}
		}
		redis := l.Cluster.Redis
		for _, s := range append(redis.Sentinels, redis.Servers[1].Server, redis.Servers[0].Server) {
			if err := s.Restart(ctx); err != nil {
				return err
			}
		}
		for _, r := range l.Replicas() {
			if err := errors.Join(r.Restart(ctx), awaitReady(ctx, l)); err != nil {
				return err
			}
		}
		return nil
	}}, nil
}
