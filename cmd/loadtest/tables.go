package main

import (
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"orderstock/loadtest/system"
	"orderstock/loadtest/tables"
	"orderstock/loadtest/trial"
	"orderstock/pkg/command"
)

// listOfTables returns a line for each table, with the number of its rows.
func listOfTables() string {
	var b strings.Builder
	for _, t := range tables.All() {
		fmt.Fprintf(&b, "  %-22s %4d  %s\n", t.Name, len(t.Rows), t.Says)
	}
	return b.String()
}

// list prints the names of rows; without a name, the tables.
func list(w io.Writer, all []*experiment) error {
	var b strings.Builder
	for _, e := range all {
		for _, row := range e.Rows {
			fmt.Fprintln(&b, row.Name)
		}
	}
	_, err := io.WriteString(w, cmp.Or(b.String(), listOfTables()))
	return err
}

// unknown returns an error for a name that nothing has. It says up to five that are similar.
func unknown(name string) error {
	const space = "\u00a0" // the name of a command ends at an ordinary one
	names := cobra.Command{SuggestionsMinimumDistance: max(2, len(name)/5)}
	var known []string
	for _, t := range tables.All() {
		known = append(known, t.Name)
		for _, e := range append([]trial.Experiment{{Name: t.Name}}, t.Rows...) {
			word := strings.ReplaceAll(e.Name, " ", space)
			names.AddCommand(&cobra.Command{Use: word, Run: func(*cobra.Command, []string) {}})
		}
	}
	near := names.SuggestionsFor(strings.ReplaceAll(name, " ", space))
	slices.Sort(near)
	if near = slices.Compact(near); len(near) > 5 {
		near = append(near[:5], "…")
	}
	text := fmt.Sprintf("there is no row and no table %q", name)
	if len(near) > 0 {
		text += "; near: " + strings.ReplaceAll(strings.Join(near, ", "), space, " ")
	}
	return fmt.Errorf("%s. A published fault is A to Q, broken, fixed or here; the tables are %s; --list after one "+
		"prints its rows", text, strings.Join(known, ", "))
}

// named returns the experiment of that name: a table, or a row of one.
func (cfg *runConfig) named(name string, seeded bool) (*experiment, error) {
	name, at, seededByName := strings.Cut(name, "@")
	t, found := tables.Lookup(name)
	e := &experiment{Table: t, runs: cfg.Seeds}
	switch {
	case !found:
		return nil, unknown(name)
	case seededByName && seeded:
		return nil, fmt.Errorf("%s@%s has a seed: leave --seed out", name, at)
	case seeded:
		e.first = cfg.custom.Load.Mix.Seed
	case seededByName:
		var err error
		if e.first, err = strconv.ParseUint(at, 10, 64); err != nil {
			return nil, fmt.Errorf("%s: seed %q: want a whole number, 0 or more", name, at)
		}
	}
	switch given := e.first; t.Name {
	case tables.TheTour:
		e.first = cmp.Or(given, tables.FirstSeed)
		e.run = func(cmd *cobra.Command, seed uint64) error {
			return cfg.tour(cmd, e.Rows, seed)
		}
	case tables.OneSide:
		f, side := sideOf(t.Rows[0])
		e.first = cmp.Or(given, tables.FirstSeed)
		if played, _ := f.Play(side, e.first); played.Expect.Broken != "" {
			e.exit = command.Failed
		}
		e.Name = "" // each is run alone
		e.run = func(cmd *cobra.Command, seed uint64) error {
			played, run := f.Play(side, seed)
			return cfg.play(cmd, played, run)
		}
	case tables.TheStorm, tables.TheLocalStorm:
		e.first = cmp.Or(given, rand.Uint64(), 1)
		e.run = func(cmd *cobra.Command, seed uint64) error {
			return cfg.storm(cmd, t.Name == tables.TheLocalStorm, seed)
		}
	default:
		e.first, e.runs = cmp.Or(given, 1), 1
		e.run = func(cmd *cobra.Command, seed uint64) error {
			return cfg.runSuite(cmd, trial.Suite{
				Table: t.Name, Experiments: e.Rows, FirstSeed: seed, Seeds: cfg.Seeds, Lanes: cmp.Or(cfg.Lanes, t.Lanes),
			})
		}
	}
	return e, nil
}

// sideOf returns the published fault and the side of a row.
func sideOf(row trial.Experiment) (tables.Fault, tables.Side) {
	letter, side, _ := strings.Cut(row.Name, "/")
	f, _ := tables.Find(letter) // the row is in the table
	return f, tables.Side(side)
}

// storm runs a storm in the compose file's stack or, if it is local, in a new system.
func (cfg *runConfig) storm(cmd *cobra.Command, local bool, seed uint64) (err error) {
	doing := command.Progress(cmd.ErrOrStderr())
	s := trial.Suite{Table: tables.TheStorm, FirstSeed: seed, Watch: func(section string, value any) {
		if section == "act" || section == "phase" {
			doing(fmt.Sprint(value))
		}
	}}
	servers, replicas := []string{"mysql", "redis", "zookeeper"}, []string{"order-1", "order-2", "stock-1", "stock-2"}
	if !local {
		if s.On, err = system.AttachCompose(cmd.Context(), cfg.Compose, cfg.Out); err != nil {
			return err
		}
		servers, replicas = nil, nil
		for _, p := range s.On.ServerProcesses() {
			servers = append(servers, p.Name())
		}
	}
	s.Experiments = []trial.Experiment{tables.Storm(servers, replicas, cfg.Random, seed)}
	return cfg.runSuite(cmd, s)
}

// runSuite runs experiments, and writes and prints their report. Its error has the verdict's exit code.
func (cfg *runConfig) runSuite(cmd *cobra.Command, s trial.Suite) error {
	s.Out, s.Tries, s.Print = cfg.Out, cfg.Tries, cfg.text(cmd)
	report, err := s.Run(cmd.Context())
	if report == nil {
		return err
	}
	return cfg.give(cmd, filepath.Join(s.Out, s.Table+".json"), report, err)
}

// tour plays all sides of each fault, prints the outcomes and gives them.
func (cfg *runConfig) tour(cmd *cobra.Command, sides []trial.Experiment, seed uint64) error {
	var pairs tables.Pairs
	err := cfg.withPlayer(cmd, func(p *tables.Player) error {
		say := command.Progress(cmd.ErrOrStderr())
		for all := range slices.Chunk(sides, len(tables.Sides)) {
			f, _ := sideOf(all[0])
			say("playing fault " + f.Letter + ", broken, fixed and as it runs here")
			pair, err := p.All(cmd.Context(), f, seed)
			if err = cmp.Or(err, cmd.Context().Err()); err != nil {
				return err
			}
			show(cfg.text(cmd), pair.Broken, pair.BrokenScene)
			show(cfg.text(cmd), pair.Fixed, pair.FixedScene)
			show(cfg.text(cmd), pair.Here, pair.HereScene)
			pairs = append(pairs, pair)
		}
		return nil
	})
	if len(pairs) == 0 {
		return err
	}
	return cfg.give(cmd, filepath.Join(cfg.Out, "tour.json"), pairs, err)
}
