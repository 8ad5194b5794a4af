package zklock_test

import (
	"context"
	"errors"
	"iter"
	"path"
	"strings"
	"testing"

	"orderstock/pkg/zklock"
	"orderstock/pkg/zklock/internal/zktest"
)

// candidacy is a campaign that goes on in the background.
type candidacy struct {
	leadership *zklock.Leadership
	err        error
	done       chan struct{}
}

func stand(ctx context.Context, e *zklock.Election, value string) *candidacy {
	c := &candidacy{done: make(chan struct{})}
	go func() {
		defer close(c.done)
		c.leadership, c.err = e.Campaign(ctx, value)
	}()
	return c
}

func (c *candidacy) wait(t *testing.T) *zklock.Leadership {
	t.Helper()
	await(t, c.done, "the lead")
	if c.err != nil {
		t.Fatal(c.err)
	}
	return c.leadership
}

// observer reads the leaders that Observe yields, in order.
type observer struct {
	next func() (zklock.Contender, error, bool)
}

func observe(t *testing.T, e *zklock.Election) *observer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	next, stop := iter.Pull2(e.Observe(ctx))
	t.Cleanup(func() { cancel(); stop() })
	return &observer{next}
}

func (o *observer) expect(t *testing.T, value string, token zklock.Token) {
	t.Helper()
	leader, err, ok := o.next()
	if !ok || err != nil {
		t.Fatalf("observer: %v, %v; want %q", err, ok, value)
	}
	if leader.Owner.Value != value || leader.Token != token {
		t.Fatalf("observer was told of %+v, want %q with %v", leader, value, token)
	}
}

func TestElection(t *testing.T) {
	dir := zktest.Root(t) + "/election"
	s, l := dialLink(t)
	other, third := connect(t), connect(t)
	here, there := zklock.NewElection(s, dir), zklock.NewElection(other, dir)
	watching := zklock.NewElection(third, dir)

	wantErr(t, errorOf(watching.Leader(t.Context())), zklock.ErrNoLeader, "leader before anybody stands")
	seen := observe(t, watching)
	waiting := make(chan struct{})
	go func() { // it waits for a candidate
		defer close(waiting)
		leader, err, _ := seen.next()
		if err != nil || leader.Owner.Value != "one" {
			t.Errorf("observer was told of %+v, %v", leader, err)
		}
	}()
	first := stand(t.Context(), here, "one").wait(t)
	await(t, waiting, "the first leader's news")

	second := stand(t.Context(), there, "two")
	awaitChildren(t, third.Conn(), dir, 2)
	if leader, err := watching.Leader(t.Context()); err != nil ||
		leader.Owner.Value != "one" || leader.Token != first.Token() {
		t.Errorf("leader %+v, %v", leader, err)
	}
	if status, err := zklock.Inspect(t.Context(), third, dir); err != nil || status.Waiters[0].Owner.Value != "two" {
		t.Errorf("status %+v, %v", status, err)
	}
	must(t, first.Proclaim(t.Context(), "one more"))
	seen.expect(t, "one more", first.Token())
	must(t, first.Resign(t.Context()))
	wantErr(t, first.Proclaim(t.Context(), "none"), zklock.ErrReleased, "proclaim after resigning")
	successor := second.wait(t)
	seen.expect(t, "two", successor.Token())
	if !first.Token().Less(successor.Token()) {
		t.Errorf("token %v after %v", successor.Token(), first.Token())
	}

	// The next leader's session expires: its context ends, and Observe yields that nobody leads.
	last := stand(t.Context(), here, "three")
	awaitChildren(t, third.Conn(), dir, 2)
	must(t, successor.Resign(t.Context()))
	seen.expect(t, "three", last.wait(t).Token())
	l.expire(t)
	await(t, last.leadership.Context().Done(), "the loss of the lead")
	wantErr(t, last.leadership.Proclaim(t.Context(), "none"), zklock.ErrLost, "proclaim after the loss")
	seen.expect(t, "", zklock.Token{})
}

// A candidate keeps its place over a reconnect, and an observer its watch.
func TestElectionSurvivesReconnects(t *testing.T) {
	dir := zktest.Root(t) + "/election"
	s, l := dialLink(t)
	other := connect(t)
	here, there := zklock.NewElection(s, dir), zklock.NewElection(other, dir)
	first := stand(t.Context(), there, "one").wait(t)
	second := stand(t.Context(), here, "two")
	awaitChildren(t, other.Conn(), dir, 2)
	seen := observe(t, here)
	seen.expect(t, "one", first.Token())
	l.cutAfter(opExists)
	_, _, _ = s.Conn().Exists("/") // cut
	must(t, first.Resign(t.Context()))
	seen.expect(t, "two", second.wait(t).Token())
	l.cutAfter(opSetData)
	must(t, second.leadership.Proclaim(t.Context(), "still two"))
	seen.expect(t, "still two", second.leadership.Token())
	must(t, second.leadership.Resign(t.Context()))
	seen.expect(t, "", zklock.Token{})
	awaitNoWatches(t, other, dir)
}

func TestElectionEndsWithItsContext(t *testing.T) {
	dir := zktest.Root(t) + "/election"
	s, other := connect(t), connect(t)
	first := stand(t.Context(), zklock.NewElection(other, dir), "one").wait(t)
	ctx, cancel := context.WithCancel(t.Context())
	second := stand(ctx, zklock.NewElection(s, dir), "two")
	awaitChildren(t, other.Conn(), dir, 2)
	next, stop := iter.Pull2(zklock.NewElection(s, dir).Observe(ctx))
	defer stop()
	if leader, err, _ := next(); err != nil || leader.Owner.Value != "one" {
		t.Errorf("observer was told of %+v, %v", leader, err)
	}
	cancel()
	await(t, second.done, "the end of the candidacy")
	if !errors.Is(second.err, zklock.ErrNotAcquired) || !errors.Is(second.err, context.Canceled) {
		t.Errorf("campaign: %v", second.err)
	}
	if _, err, ok := next(); !ok || !errors.Is(err, context.Canceled) {
		t.Errorf("observer after the end of its context: %v, %v", err, ok)
	}
	if _, _, ok := next(); ok {
		t.Error("observer goes on after its error")
	}
	names := awaitChildren(t, other.Conn(), dir, 1)

	// A value that nobody could read again is refused, and leaves no node.
	election := zklock.NewElection(s, dir)
	for _, value := range []string{strings.Repeat("x", 64<<10+1), "\xff"} {
		if _, err := election.Campaign(t.Context(), value); err == nil || !strings.Contains(err.Error(), "UTF-8") {
			t.Errorf("campaign with a bad value: %v", err)
		}
		if err := first.Proclaim(t.Context(), value); err == nil || !strings.Contains(err.Error(), "UTF-8") {
			t.Errorf("proclaim of a bad value: %v", err)
		}
	}
	if leader, err := election.Leader(t.Context()); err != nil ||
		leader.Node != path.Base(names[0]) || leader.Owner.Value != "one" {
		t.Errorf("leader %+v, %v", leader, err)
	}
	check(t, first.Resign(t.Context()))
}
