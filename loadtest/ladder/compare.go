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

	"orderstock/loadtest/verify"
)

// Side is one of two variants of the services to compare.
type Side struct {
	// Bin is the folder of the services' binaries; "": this build's.
	Bin string
	// Env has the services' settings that differ from the usual ones.
	Env map[string]string
}

// ParseSide reads a side: each value is a folder of binaries, or a setting NAME=VALUE.
func ParseSide(values []string) (s Side, err error) {
	s.Env = map[string]string{}
	for _, value := range values {
		name, setting, isSetting := strings.Cut(value, "=")
		switch {
		case isBuild(value):
			s.Bin = value
		case isSetting && name != "" && strings.ToUpper(name) == name:
			s.Env[name] = setting
		default:
			return s, fmt.Errorf("%q: want a folder with order-service, stock-service and migrate, or NAME=VALUE", value)
		}
	}
	return s, nil
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

// String names the side: "this build" if nothing differs.
func (s Side) String() string {
	var parts []string
	if s.Bin != "" {
		parts = append(parts, s.Bin)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		parts = append(parts, name+"="+s.Env[name])
	}
	return cmp.Or(strings.Join(parts, " "), "this build")
}

// Load is one load of a comparison: whole orders or deductions, of equally popular products.
type Load struct {
	Path string `json:"path"`
	// Goods is the number of products, Items the most of one order, and Replicas the number of stock services.
	Goods    int `json:"goods"`
	Items    int `json:"items"`
	Replicas int `json:"replicas"`
	Clients  int `json:"clients"`
}

func (l Load) String() string {
	what := l.Path + " of one hot product"
	if l.Goods > 1 {
		what = fmt.Sprintf("%s of 1 to %d of %d products", l.Path, l.Items, l.Goods)
	}
	return fmt.Sprintf("%s, %d clients, stock services: %d", what, l.Clients, l.Replicas)
}

// Comparison is two variants of the services under the same loads.
type Comparison struct {
	Bench
	// Old and New name the variants.
	Old   string     `json:"old"`
	New   string     `json:"new"`
	Loads []Compared `json:"loads"`
}

// Compared is the comparison under one load, measured in legs.
type Compared struct {
	Load
	// Old[i] and New[i] are sales a second in leg i.
	Old []float64 `json:"old_per_s"`
	New []float64 `json:"new_per_s"`
	// Ratio is the sales of the new variant to the old one's, and P99 the same of the 99th percentiles.
	Ratio
	P99 Ratio `json:"p99"`
	// Handovers is how often a second a lock of the new variant went from one stock service to another.
	Handovers float64 `json:"handovers_per_s"`
	// Verdict is the worst of all turns.
	Verdict verify.Outcome `json:"verdict"`

	oldP99, newP99, handovers []float64 // of the legs
}

// MeasureComparison compares two variants under each of the loads, in that many legs, at least two. Each leg has new
// services and databases: of two processes of one program, one may be about 5 % faster than the other for its whole
// life. So the errors, the spread of the legs, hold all that differs from leg to leg. Within a leg each has two turns.
// If a leg fails, the comparison has the ones before it.
func MeasureComparison(
	ctx context.Context, cfg Config, before, after Side, loads []Load, n int,
) (_ *Comparison, err error) {
	c := &Comparison{Old: before.String(), New: after.String()}
	sides := [2]variant{{env: before.Env}, {env: after.Env}}
	for i, side := range []Side{before, after} {
		b, err := cfg.startBuild(ctx, side.Bin, []string{"old", "new"}[i])
		if err != nil {
			return c, err
		}
		defer func() { err = errors.Join(err, b.stop()) }()
		sides[i].build = b
	}
	if c.Bench, err = cfg.bench(ctx); err != nil {
		return c, err
	}
	for _, load := range loads {
		c.Loads = append(c.Loads, Compared{Load: load, Verdict: verify.Pass})
	}
	for leg := range n {
		for i := range c.Loads {
			cfg.say("leg %d of %d, %s", leg+1, n, c.Loads[i].Load)
			if err := c.Loads[i].measure(ctx, cfg, sides, leg%2 == 1); err != nil {
				return c, fmt.Errorf("leg %d, %s: %w", leg+1, c.Loads[i].Load, err)
			}
			cfg.say("%s: %s", c.Loads[i].Load, c.Loads[i].Ratio)
		}
	}
	return c, nil
}

// measure adds a leg, which begins with the new variant if reversed.
func (c *Compared) measure(ctx context.Context, cfg Config, sides [2]variant, reversed bool) error {
	variants := make([]variant, 2)
	first, second := 0, 1
	if reversed {
		first, second = 1, 0
	}
	for i, at := range []int{first, second} {
		variants[at] = sides[i]
		variants[at].shape = shape{Default, c.Replicas}
	}
	p := point{path: c.Path, goods: c.Goods, items: c.Items, clients: c.Clients, uniform: true}
	both, err := measure(ctx, cfg, p, variants, legs(2, cfg.say))
	if err != nil {
		return err
	}
	return c.add(both[first], both[second])
}

// add adds a leg.
func (c *Compared) add(before, after *contestant) error {
	was := mean(before.perS())
	if was <= 0 {
		return fmt.Errorf("leg %d: nothing was sold", len(c.Old)+1)
	}
	c.Old, c.New = append(c.Old, was), append(c.New, mean(after.perS()))
	c.oldP99, c.newP99 = append(c.oldP99, ms(before.p99())), append(c.newP99, ms(after.p99()))
	c.handovers = append(c.handovers, after.locks.handovers/after.fired.Seconds())
	c.Ratio, c.P99, c.Handovers = overLegs(c.Old, c.New), overLegs(c.oldP99, c.newP99), mean(c.handovers)
	c.Verdict = c.Verdict.Or(before.verdict).Or(after.verdict)
	return nil
}
