package tables

import (
	"strings"
	"time"

	"orderstock/loadtest/faultpoint"
	"orderstock/loadtest/fire"
	"orderstock/loadtest/system"
	"orderstock/loadtest/trial"
)

// Surroundings lists the faults around the system, which strike alone and in pairs.
var Surroundings = []string{
	"redis-flushed", "redis-down", "mysql-killed", "zookeeper-restarted", "sessions-expired",
	"replica-killed", "network-slow", "cut-one-way", "requests-duplicated",
}

const while = 1500 * time.Millisecond

// surrounding lists their acts.
var surrounding = map[string][]trial.Action{
	"redis-flushed":       {{Action: "keep-flushing-redis", For: time.Second}},
	"redis-down":          {{Action: "kill-server", Target: "redis", For: while}},
	"mysql-killed":        {{Action: "restart-server", Target: "mysql", For: brief}},
	"zookeeper-restarted": {{Action: "restart-server", Target: "zookeeper", For: brief}},
	"sessions-expired":    {{Action: "expire-sessions", For: brief}},
	"replica-killed": {
		{Action: "kill", Target: "order-" + trial.Any, For: time.Second},
		{Action: "kill", Target: "stock-" + trial.Any, For: time.Second},
	},
	"network-slow": {
		{Action: "slow", Target: "order-1", Wire: system.ToStock, For: while},
		{Action: "slow", Target: "order-2", Wire: system.ToStock, For: while},
	},
	"cut-one-way": { // one order service cannot send, the other cannot receive
		{Action: "lose-requests", Target: "order-1", Wire: system.ToStock, For: while},
		{Action: "lose-replies", Target: "order-2", Wire: system.ToStock, For: while},
	},
	"requests-duplicated": {{Action: "duplicate", For: while}},
}

// around returns the cell of one or two faults around the system.
func around(of ...string) trial.Experiment {
	e := trial.Experiment{
		Name: "around/during/" + strings.Join(of, "+"), Group: trial.Around, Load: usual, Several: several,
		Services: trial.Services{Env: with(Env, preferring)},
	}
	for _, fault := range of {
		for _, a := range surrounding[fault] {
			a.Fault = fault
			e.Acts = append(e.Acts, a.At(strikeAt))
		}
	}
	return Cell(e)
}

// Lasting returns the cells of the faults that last longer than the others. Each makes an extra demand of the system
// while it lasts or just after. Their loads last as long. There are many clients, since a call to a paused process
// occupies its client until it times out.
func Lasting() []trial.Experiment {
	// A frozen stock service holds the lock of the stock and the rows of the few products until its session and its
	// connection end, about 6 s later. Every order is sent to two replicas at once.
	frozen := func(target string, step faultpoint.Step, d time.Duration) trial.Action {
		return trial.Action{
			Action: "arm-pause", Target: target, Step: string(step), When: string(faultpoint.After), For: d, Skip: true,
		}
	}
	repeated, once := fire.Mix{Cancel: 0.1, Repeat: 1}, fire.Mix{Cancel: 0.1}
	cells := []trial.Experiment{
		{
			Name: "order-frozen", Load: fire.Config{Orders: 600, Rate: 45, Concurrency: 512, Mix: repeated},
			Acts:   []trial.Action{frozen("order-1", faultpoint.InsertItems, 8*time.Second)},
			Checks: []trial.Check{trial.Pace(0.5), trial.Repeated},
		},
		{
			Name: "stock-frozen", Load: fire.Config{Orders: 1000, Rate: 45, Concurrency: 512, Mix: repeated},
			Acts:   []trial.Action{frozen("stock-1", faultpoint.InsertFlow, 16*time.Second)},
			Checks: []trial.Check{trial.Pace(0.5)},
		},
		{
			Name: "zookeeper-frozen", Load: fire.Config{Orders: 680, Rate: 40, Concurrency: 256, Mix: once},
			Acts:   []trial.Action{{Action: "pause-server", Target: "zookeeper", For: 14 * time.Second}},
			Checks: []trial.Check{trial.Confirming},
		},
		{
			Name: "zookeeper-gone", Load: fire.Config{Orders: 3600, Rate: 50, Concurrency: 256, Mix: once},
			Acts:   []trial.Action{{Action: "kill-server", Target: "zookeeper", For: time.Minute}},
			Checks: []trial.Check{trial.Pace(0.8)},
		},
		{ // no reply of a stock service reaches the order service that reconciles
			Name: "leader-cut", Load: fire.Config{Orders: 680, Rate: 40, Concurrency: 256, Mix: once},
			Acts:   []trial.Action{{Action: "mislead-leader", For: 14 * time.Second}},
			Checks: []trial.Check{trial.Relieved},
		},
	}
	for i, e := range cells {
		e.Services = trial.Services{Env: with(Env, preferring), Fresh: e.Name == "stock-frozen"}
		if e.Name == "stock-frozen" {
			e.Services.Env = Env // so that the first stock service has work
		}
		e.Acts[0] = e.Acts[0].At(strikeAt + trial.PacedFor)
		e.Name, e.Group, e.Several = "around/during/"+e.Name, trial.Around, several
		cells[i] = Cell(e)
	}
	return cells
}
