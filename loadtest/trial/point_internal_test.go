package trial

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"orderstock/loadtest/system"
)

// TestHealIsInterrupted: the outage after lost replies ends with the context, a look at the fault does not wait for it,
// and the connections are mended all the same.
func TestHealIsInterrupted(t *testing.T) {
	t.Parallel()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	wire, err := system.NewWire("order-1-stock", server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer wire.Close()
	s := &strike{action: Action{Action: "arm-reply-lost", Outage: time.Minute}, poisoned: []*system.Wire{wire}}
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	healed := make(chan error, 1)
	go func() { healed <- s.heal(ctx) }()
	for !wire.Broken() {
		time.Sleep(time.Millisecond) // until it is cut; the test's own limit bounds it
	}
	lasts := make(chan bool, 1)
	go func() { lasts <- s.on(ctx) }()
	const limit = 20 * time.Second
	select {
	case on := <-lasts:
		if !on {
			t.Error("it does not last, though the connection is cut")
		}
	case <-time.After(limit):
		t.Error("whoever looks at the fault waits for its end")
	}
	interrupt()
	select {
	case err := <-healed:
		if err != nil || wire.Broken() || s.on(t.Context()) {
			t.Errorf("healed with %v; broken: %t, on: %t", err, wire.Broken(), s.on(t.Context()))
		}
	case <-time.After(limit):
		t.Error("the outage goes on after the interrupt")
	}
}

// TestAnActThatFindsNothing fails, has not struck, and heals nothing: a cluster may have no primary just then.
func TestAnActThatFindsNothing(t *testing.T) {
	t.Parallel()
	healed := false
	act := failover(
		func(context.Context, *system.System) ([]system.Process, error) { return nil, nil }, each(kill),
		func(context.Context, *system.System, []system.Process) error {
			healed = true
			return nil
		}, nil,
	)(nil, Action{Action: "primary-killed"})
	if err := act.Arm(t.Context()); err == nil || !strings.Contains(err.Error(), "primary-killed: there is nothing") {
		t.Errorf("armed: %v", err)
	}
	if n, err := act.strikes(t.Context()); n > 0 || err != nil {
		t.Errorf("it has struck %d times, %v", n, err)
	}
	if err := act.Heal(t.Context()); err != nil || healed {
		t.Errorf("healed: %t, %v", healed, err)
	}
}
