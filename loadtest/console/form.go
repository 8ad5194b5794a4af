package console

import (
	"orderstock/loadtest/act"
	"orderstock/loadtest/faults/faultpoint"
	"orderstock/loadtest/fire"
	"orderstock/loadtest/system"
	"orderstock/stock-service/deduct/strategy"
)

// Form describes the fields of a scenario.
type Form struct {
	Strategies []FormStrategy    `json:"strategies"`
	Steps      []faultpoint.Step `json:"steps"`
	Whens      []faultpoint.When `json:"whens"`
	Actions    []act.Kind        `json:"actions"`
	Wires      []string          `json:"wires"`
	Settings   []fire.Setting    `json:"settings"`
	Defaults   map[string]any    `json:"defaults"`
	// Program is the load tester's name in a shell.
	Program string `json:"program"`
}

// FormStrategy is a deduction strategy.
type FormStrategy struct {
	Name   string `json:"name"`
	Says   string `json:"says"`
	Unsafe bool   `json:"unsafe"`
}

func (c *Console) form() Form {
	f := Form{
		Steps: faultpoint.Steps, Whens: act.Whens, Actions: act.Kinds,
		Program:  c.program,
		Wires:    []string{system.ToMySQL, system.ToRedis, system.ToZooKeeper, system.ToStock},
		Settings: new(Scenario).Settings(),
		Defaults: map[string]any{
			"path": "order", "orders": 800, "concurrency": 200, "goods": 5, "stock": 300, "items_max": 3, "num_max": 3,
			"repeat": 0.1,
		},
	}
	for _, s := range strategy.All {
		f.Strategies = append(f.Strategies, FormStrategy{Name: s.Name, Says: s.Summary, Unsafe: s.Unsafe()})
	}
	return f
}
