package faults

import (
	"slices"
	"time"

	"orderstock/loadtest/faults/faultpoint"
	"orderstock/loadtest/system"
)

// Cell is one experiment of the matrix.
type Cell struct {
	// Step is a step of the protocol, or Around for a fault around the system.
	Step faultpoint.Step `json:"step"`
	// When is before, after or during.
	When faultpoint.When `json:"when"`
	// Fault is one of Strikes, one of Alone, or one or two of Surroundings joined by "+".
	Fault string `json:"fault"`
	// Baskets says that all orders are of several products, whose locks one group holds together.
	Baskets bool `json:"baskets,omitempty"`
	// NA says why the fault does not apply; empty if it does.
	NA string `json:"na,omitempty"`
	// Outage is how long connections are refused after a lost reply. Default: 300 ms.
	Outage time.Duration `json:"-"`
	// Cluster is true if the cell needs a cluster, and Fault is one of clusterFaults.
	Cluster bool `json:"-"`
}

// Around is the step of the cells whose faults strike the system instead of a step.
const Around = "around"

// During is the side of those cells.
const During = "during"

// Name identifies the cell: "commit/before/kill", or "commit/before/kill/baskets".
func (c Cell) Name() string {
	name := string(c.Step) + "/" + string(c.When) + "/" + c.Fault
	if c.Baskets {
		name += "/baskets"
	}
	return name
}

// The faults that strike at a step.
const (
	Kill      = "kill"             // SIGKILL of the process
	Pause     = "pause"            // SIGSTOP beyond its ZooKeeper session
	ReplyLost = "reply-lost"       // the step takes effect, its reply never comes back
	Reset     = "connection-reset" // every connection to the step's server is reset
	Error     = "error"            // the step fails
	Delay     = "delay"            // the step is delayed by twice the caller's timeout
)

// Strikes lists the faults that strike at a step.
var Strikes = []string{Kill, Pause, ReplyLost, Reset, Error, Delay}

// The faults around the system.
const (
	RedisFlushed       = "redis-flushed"
	RedisDown          = "redis-down"
	MySQLKilled        = "mysql-killed"
	ZooKeeperRestarted = "zookeeper-restarted"
	SessionsExpired    = "sessions-expired"
	ReplicaKilled      = "replica-killed"
	NetworkSlow        = "network-slow"
	CutOneWay          = "cut-one-way"
	Duplicated         = "requests-duplicated"
)

// Surroundings lists the faults around the system.
var Surroundings = []string{
	RedisFlushed, RedisDown, MySQLKilled, ZooKeeperRestarted, SessionsExpired,
	ReplicaKilled, NetworkSlow, CutOneWay, Duplicated,
}

// service is the service whose process passes a step.
type service string

const (
	orderService service = "order"
	stockService service = "stock"
)

// point is a step with its properties in the matrix.
type point struct {
	step faultpoint.Step
	by   service
	// wire is the wire that the step's call uses.
	wire string
	// alone is true if only one replica of the service passes the step, and the harness does not know which.
	alone bool
	// reach makes orders pass a step that they would seldom pass otherwise; nil if all orders pass it.
	reach []faultpoint.Rule
}

const noReplyYet = "a step that has not begun has no reply to lose"

var points = []point{
	{step: faultpoint.InsertOrder, by: orderService, wire: system.ToMySQL},
	{step: faultpoint.SetFlag, by: orderService, wire: system.ToRedis},
	{step: faultpoint.CallStock, by: orderService, wire: system.ToStock},
	{step: faultpoint.TakeFlag, by: stockService, wire: system.ToRedis},
	{step: faultpoint.LookupFlow, by: stockService, wire: system.ToMySQL, reach: flagsNotSet},
	{step: faultpoint.AcquireLock, by: stockService, wire: system.ToZooKeeper},
	{step: faultpoint.UpdateStock, by: stockService, wire: system.ToMySQL},
	{step: faultpoint.InsertFlow, by: stockService, wire: system.ToMySQL},
	{step: faultpoint.Commit, by: stockService, wire: system.ToMySQL},
	{step: faultpoint.ReleaseLock, by: stockService, wire: system.ToZooKeeper},
	{step: faultpoint.Reply, by: stockService, wire: system.ToStock},
	{step: faultpoint.Confirm, by: orderService, wire: system.ToStock},
	{step: faultpoint.SetStatus, by: orderService, wire: system.ToMySQL},
	{step: faultpoint.CancelFlag, by: orderService, wire: system.ToStock},
	{step: faultpoint.CancelOrder, by: orderService, wire: system.ToMySQL},
	{step: faultpoint.Reconcile, by: orderService, wire: system.ToStock, alone: true, reach: statusNotSet},
}

// nextLock is the point between the locks of a group: the process holds one and asks for the next.
var nextLock = point{step: faultpoint.NextLock, by: stockService, wire: system.ToZooKeeper}

// basketPoints are where the holder of several locks is struck: between the first and the last, with all of them, in
// the transaction, around its commit, and while the locks are released.
var basketPoints = []struct {
	step faultpoint.Step
	when faultpoint.When
}{
	{faultpoint.NextLock, faultpoint.Before},
	{faultpoint.AcquireLock, faultpoint.After},
	{faultpoint.UpdateStock, faultpoint.Before},
	{faultpoint.Commit, faultpoint.Before},
	{faultpoint.Commit, faultpoint.After},
	{faultpoint.ReleaseLock, faultpoint.After},
}

// basketCells strike the holder of several locks; it waits for other holders all the while, as two replicas take
// overlapping sets.
func basketCells() []Cell {
	var cells []Cell
	for _, at := range basketPoints {
		for _, fault := range Strikes {
			if c := strikeCell(at.step, at.when, fault); c.NA == "" {
				c.Baskets = true
				cells = append(cells, c)
			}
		}
	}
	return cells
}

// flagsNotSet keeps orders' flags out of Redis, so that the stock service has
// to look in the ledger.
var flagsNotSet = []faultpoint.Rule{
	{Step: faultpoint.SetFlag, When: faultpoint.Before, Action: faultpoint.Error, Times: 1000},
}

// statusNotSet leaves orders PENDING, so that the reconciler finds some.
var statusNotSet = []faultpoint.Rule{
	{Step: faultpoint.SetStatus, When: faultpoint.Before, Action: faultpoint.Error, Times: 10},
}

// sides are the sides of a step.
var sides = []faultpoint.When{faultpoint.Before, faultpoint.After}

// strikeCell returns the cell of a fault that strikes at a step.
func strikeCell(step faultpoint.Step, when faultpoint.When, fault string) Cell {
	c := Cell{Step: step, When: when, Fault: fault}
	if fault == ReplyLost && when == faultpoint.Before {
		c.NA = noReplyYet
	}
	return c
}

// aroundCell returns the cell of a fault around the system.
func aroundCell(fault string) Cell { return Cell{Step: Around, When: During, Fault: fault} }

// Cells returns the whole matrix, including the cells that do not apply.
func Cells() []Cell {
	var all []Cell
	for _, p := range points {
		for _, when := range sides {
			for _, fault := range Strikes {
				all = append(all, strikeCell(p.step, when, fault))
			}
		}
	}
	all = append(all, basketCells()...)
	for i, a := range Surroundings {
		all = append(all, aroundCell(a))
		for _, b := range Surroundings[i+1:] {
			c := aroundCell(a + "+" + b)
			if a == RedisFlushed && b == RedisDown {
				c.NA = "a Redis that is down holds nothing to flush"
			}
			all = append(all, c)
		}
	}
	for _, fault := range Alone {
		all = append(all, aroundCell(fault))
	}
	return all
}

// Reduced returns a part of the matrix that covers each step and each fault at least once.
func Reduced() []Cell {
	var some []Cell
	for i, p := range points {
		// The faults alternate over the steps, and so do the two sides.
		for k := range Strikes {
			if c := strikeCell(p.step, sides[i/2%2], Strikes[(i+k)%len(Strikes)]); c.NA == "" {
				some = append(some, c)
				break
			}
		}
	}
	for i, c := range basketCells() {
		if i%7 == 0 { // each point once, or nearly
			some = append(some, c)
		}
	}
	for i, fault := range Surroundings {
		some = append(some, aroundCell(fault))
		if i%3 == 0 {
			some = append(some, aroundCell(fault+"+"+Surroundings[i+2]))
		}
	}
	for _, fault := range Alone {
		some = append(some, aroundCell(fault))
	}
	return some
}

// Find returns the cell of that name.
func Find(name string) (Cell, bool) {
	all := append(Cells(), ClusterCells()...)
	i := slices.IndexFunc(all, func(c Cell) bool { return c.Name() == name })
	if i < 0 {
		return Cell{}, false
	}
	return all[i], true
}

func pointOf(step faultpoint.Step) point {
	if step == nextLock.step {
		return nextLock
	}
	i := slices.IndexFunc(points, func(p point) bool { return p.step == step })
	return points[i] // every cell's step is in the table
}
