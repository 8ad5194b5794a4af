package ladder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"orderstock/loadtest/fire"
	"orderstock/loadtest/history"
	"orderstock/loadtest/trial"
	"orderstock/pkg/servers"
)

// ParseSide reads one of two variants of the services to compare: each value is a folder of another build's programs,
// or a setting NAME=VALUE. It is named by them, or "this build" if nothing differs.
func ParseSide(values []string) (e trial.Experiment, err error) {
	env := map[string]string{}
	for _, value := range values {
		name, setting, isSetting := strings.Cut(value, "=")
		switch {
		case isBuild(value):
			e.Name = value + " "
			if e.Services.Build, err = filepath.Abs(value); err != nil {
				return e, err
			}
		case isSetting && name != "" && strings.ToUpper(name) == name:
			env[name] = setting
		default:
			return e, fmt.Errorf("%q: want a folder with order-service, stock-service and migrate, or NAME=VALUE", value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		e.Name += name + "=" + env[name] + " "
	}
	e.Name = cmp.Or(strings.TrimSpace(e.Name), "this build")
	e.Services.Strategy, e.Services.Env = Default, patient(env)
	return e, nil
}

// isBuild reports whether the folder has the programs of a build.
func isBuild(dir string) bool {
	for _, program := range []string{"order-service", "stock-service", "migrate"} {
		if _, err := os.Stat(filepath.Join(dir, program)); err != nil {
			return false
		}
	}
	return true
}

// Compare compares two variants under each of the loads, in that many legs, at least two. Each leg has new services and
// databases: of two processes of one program, one may be about 5 % faster than the other for its whole life. So the
// errors, the spread of the legs, hold all that differs from leg to leg. Within a leg each has two turns. If a leg
// fails, the result has the ones before it.
func (cfg Config) Compare(
	ctx context.Context, sides [2]trial.Experiment, loads []fire.Config, legs int,
) (r *Result, err error) {
	r = &Result{Kind: "compare"}
	cfg.builds = map[string]*servers.MySQL{}
	sides[0].Group, sides[1].Group = "old", "new"
	for _, side := range sides {
		if side.Services.Build == "" {
			continue
		}
		cfg.say("starting a MySQL server for the tables of %s", side.Services.Build)
		o := cfg.mysql
		o.Dir = filepath.Join(cfg.Dir, "mysql-"+side.Group)
		m, err := servers.StartMySQL(ctx, o)
		if err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, m.Kill()) }() // its data are of no use
		cfg.builds[side.Group] = m
	}
	if r.Bench, err = cfg.bench(ctx); err != nil {
		return r, err
	}
	all := make([]Row, 2*len(loads))
	for leg := range legs {
		for i, load := range loads {
			sides[0].Load, sides[1].Load = load, load
			says, rows := newRow(sides[0]).load(), all[2*i:2*i+2]
			cfg.say("leg %d of %d, %s", leg+1, legs, says)
			measured, err := cfg.measure(ctx, sides[:], 2, leg)
			if err != nil {
				return r, fmt.Errorf("leg %d, %s: %w", leg+1, says, err)
			}
			for side := range rows {
				rows[side].addLeg(measured[side])
			}
			if err := relate(rows); err != nil {
				return r, fmt.Errorf("leg %d: %w", leg+1, err)
			}
			cfg.say("%s: %s", says, rows[1].Ratio)
		}
		r.Rows = slices.Clone(all)
	}
	return r, nil
}

// ScalePlan configures Scale.
type ScalePlan struct {
	Delays   []time.Duration `flag:"delays" help:"how long the database delays a commit"`
	Groups   []int           `flag:"groups" help:"the most operations of one transaction: with small groups the holders wait for commits side by side, with large ones each commit serves more"`
	Holders  []int           `flag:"holders" help:"numbers of partitions; the others are compared with the first"`
	Products int             `flag:"products" default:"100" help:"products in demand, all equally"`
	Clients  int             `flag:"clients" default:"2000" help:"clients of the many products; if they fill only a few groups, one holder is as fast as several"`
	Replicas int             `flag:"replicas" default:"2" help:"stock services"`
	Legs     int             `flag:"legs" default:"4" bounds:"2 10000" help:"how often all take turns, 2 at least"`
}

// Scale measures deductions of many products by the number of partitions, each with its own lock, and lets a holder of
// locks fail; or one of them.
func (cfg Config) Scale(ctx context.Context, plan ScalePlan, holders, fails bool) (r *Result, err error) {
	r = &Result{Kind: "scale"}
	if r.Bench, err = cfg.bench(ctx); err != nil {
		return r, err
	}
	for _, group := range plan.Groups {
		for _, delay := range plan.Delays {
			if !holders {
				continue
			}
			rows, err := cfg.holders(ctx, plan, group, delay)
			if err != nil {
				return r, fmt.Errorf("groups of %d, commits of %s: %w", group, delay, err)
			}
			r.Rows = append(r.Rows, rows...)
		}
	}
	if fails {
		err = cfg.undergo(ctx, failing(), r)
	}
	return r, err
}

// holders measures all numbers of holders. The ratios are to the first.
func (cfg Config) holders(
	ctx context.Context, plan ScalePlan, group int, delay time.Duration,
) (rows []Row, err error) {
	undo, err := delayCommits(ctx, cfg.Servers.MySQL, delay)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, undo()) }()
	load := fire.Config{
		Path: history.PathDeduct, Concurrency: plan.Clients, Mix: fire.Mix{Goods: plan.Products},
	}
	var variants []trial.Experiment
	for _, n := range plan.Holders {
		env := patient(map[string]string{"STOCK_PARTITIONS": strconv.Itoa(n), "STOCK_GROUP": strconv.Itoa(group)})
		variants = append(variants, trial.Experiment{
			Services: trial.Services{Strategy: Default, Replicas: plan.Replicas, Env: env}, Load: load,
		})
	}
	cfg.say("groups of %d, commits of %s: %d legs of %v holders", group, delay, plan.Legs, plan.Holders)
	rows, err = cfg.measure(ctx, variants, plan.Legs, 0)
	for i := range rows {
		rows[i].Holders, rows[i].Group, rows[i].DelayMS = plan.Holders[i], group, ms(delay)
		cfg.say("%d holders: %s of the first", plan.Holders[i], rows[i].Ratio)
	}
	return rows, err
}

// delayCommits makes each commit of the server wait for d, like on a replicated primary. Commits that arrive during the
// wait join it. The returned function ends the delay.
func delayCommits(ctx context.Context, m *servers.MySQL, d time.Duration) (undo func() error, err error) {
	version, err := m.Version(ctx)
	if err != nil {
		return nil, err
	}
	set := func(ctx context.Context, d time.Duration) error {
		if !strings.Contains(version, "MariaDB") {
			return m.Exec(ctx, fmt.Sprintf("SET GLOBAL binlog_group_commit_sync_delay = %d", d.Microseconds()))
		}
		// It waits only for a number of commits, here more than ever come.
		return m.Exec(ctx, fmt.Sprintf("SET GLOBAL binlog_commit_wait_count = %d", min(d.Microseconds(), 1)*10000),
			fmt.Sprintf("SET GLOBAL binlog_commit_wait_usec = %d", d.Microseconds()))
	}
	return func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		return set(ctx, 0)
	}, set(ctx, d)
}
