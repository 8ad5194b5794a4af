package trial

import (
	"context"
	"slices"
	"strings"

	"orderstock/loadtest/faultpoint"
	"orderstock/loadtest/system"
)

// Target is the object of a kind of action.
type Target string

// The targets.
const (
	OnReplica Target = "replica"
	OnServer  Target = "server"
	OnWire    Target = "wire" // of a replica, to a server
	AtStep    Target = "step" // in a replica, before or after which step
	OnNothing Target = "none"
)

// Kind is a row of the table of actions.
type Kind struct {
	Name   string `json:"name"`
	Says   string `json:"says"`
	Target Target `json:"target"`

	in maker
}

// maker makes the act of an action in a lab.
type maker func(*system.System, Action) *Act

// Kinds is the table.
var Kinds = []Kind{
	{"kill", "kill the process", OnReplica, onReplica(kill, system.Repair)},
	{"restart", "start it again, or stop it first if it still runs", OnReplica, onReplica(restart, nil)},
	{"pause", "stop the process in its tracks; its connections stay open", OnReplica, onReplica(pause, system.Repair)},
	{"resume", "let a paused process go on", OnReplica, onReplica(resume, nil)},
	{"kill-server", "kill the server; healing starts it again", OnServer, onServer(kill, system.Repair)},
	{"restart-server", "kill the server and start it again", OnServer, onServer(killAndRestart, nil)},
	{"pause-server", "stop the server in its tracks", OnServer, onServer(pause, system.Repair)},
	{"flush-redis", "delete everything in Redis", OnNothing, flushRedis},
	{
		"expire-sessions", "cut every replica off from ZooKeeper, so that its session expires; healing ends it",
		OnNothing, expireSessions,
	},
	{"duplicate", "deliver each request between the services twice", OnNothing, duplicate},
	{"cut", "close the connections and refuse new ones", OnWire, onWire((*system.Wire).Cut)},
	{"slow", "delay each direction by 200 ms", OnWire, onWire(slow)},
	{"lose-replies", "let requests through and drop what comes back", OnWire, onWire((*system.Wire).LoseReplies)},
	{"lose-requests", "drop sent data; the sender gets no error", OnWire, onWire((*system.Wire).LoseRequests)},
	{"reset", "answer every connection with a reset", OnWire, onWire((*system.Wire).Reset)},
	{"arm-kill", "kill the process at this step", AtStep, arm(faultpoint.Rule{Action: faultpoint.Kill, Times: 1})},
	{"arm-pause", "pause the process at this step", AtStep, arm(faultpoint.Rule{Action: faultpoint.Stop, Times: 1})},
	{"arm-error", "fail this step three times", AtStep, arm(faultpoint.Rule{Action: faultpoint.Error, Times: 3})},
	{
		"arm-delay", "delay this step by 1 s three times", AtStep,
		arm(faultpoint.Rule{Action: faultpoint.Delay, Times: 3, DelayMS: 1000}),
	},
	// The wire goes deaf just before the step, so the step loses its own reply.
	{
		"arm-reply-lost", "let this step take effect, and lose its reply with the connection", AtStep,
		arm(faultpoint.Rule{When: faultpoint.Before, Action: faultpoint.Call, Times: 1}),
	},
	{
		"arm-connection-reset", "reset every connection to the server of this step", AtStep,
		arm(faultpoint.Rule{Action: faultpoint.Call, Times: 1}),
	},
}

// Nothing is the name of an action that breaks nothing: the run waits until the system serves.
const Nothing = "nothing"

func noAction(context.Context) error { return nil }

// ofOneTable are kinds that the table does not show: the matrix or the storm alone needs them.
var ofOneTable = []Kind{
	{Name: "keep-flushing-redis", in: keepFlushing},
	{Name: "mislead-leader", in: misleadLeader},
	{Name: Nothing, in: func(*system.System, Action) *Act { return &Act{Do: noAction} }},
	{Name: "stop-and-start-server", in: onServer(stopAndStart, nil)},
}

// kindOf returns the kind of that name, or nil.
func kindOf(name string) *Kind {
	for _, kinds := range [][]Kind{Kinds, ofOneTable, onClusters} {
		if i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == name }); i >= 0 {
			return &kinds[i]
		}
	}
	return nil
}

// names lists the names of all kinds.
func names() string {
	all := make([]string, len(Kinds))
	for i, k := range Kinds {
		all[i] = k.Name
	}
	return strings.Join(all, ", ")
}
