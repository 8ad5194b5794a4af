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
	"strings"

	"orderstock/loadtest/fire"
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
	for i, name := range []string{"old", "new"} {
		sides[i].Name, sides[i].Group = name, sides[i].Name
	}
	for _, side := range sides {
		if side.Services.Build == "" {
			continue
		}
		cfg.say("starting a MySQL server for the tables of %s", side.Services.Build)
		o := cfg.mysql
		o.Dir = filepath.Join(cfg.Dir, "mysql-"+side.Name)
		m, err := servers.StartMySQL(ctx, o)
		if err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, m.Kill()) }() // its data are of no use
		cfg.builds[side.Name] = m
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
			measured, err := cfg.race(ctx, sides[:], 2, leg)
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
