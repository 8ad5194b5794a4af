package servers_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"orderstock/pkg/servers"
)

// TestStartHoldsNobodyUp: while a server starts again it can be looked at and killed.
func TestStartHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	ready, asked := true, make(chan struct{}, 1)
	s, err := servers.Start(t.Context(), servers.Spec{
		Name: "slow", Path: "/bin/sleep", Args: []string{"60"}, Dir: t.TempDir(),
		Ready: func(ctx context.Context) error {
			if ready {
				return nil
			}
			select {
			case asked <- struct{}{}:
			default: // asked before
			}
			<-ctx.Done()
			return errors.New("not yet")
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.Starting() {
		t.Error("a server that is ready is starting")
	}
	ready = false
	restarted := make(chan error, 1)
	go func() { restarted <- s.Restart(t.Context()) }()
	<-asked
	looked := make(chan bool, 1)
	go func() { looked <- s.Running() && s.Starting() }()
	select {
	case is := <-looked:
		if !is {
			t.Error("the server is not shown as starting")
		}
	case <-time.After(20 * time.Second):
		t.Error("the server cannot be looked at while it starts")
	}
	killed := make(chan error, 1)
	go func() { killed <- s.Kill() }()
	select {
	case err := <-killed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the server cannot be killed while it starts")
	}
	if err := <-restarted; err == nil || s.Starting() {
		t.Errorf("the start of a killed server ends with %v", err)
	}
}
