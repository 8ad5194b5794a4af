package locktest_test

import (
	"slices"
	"testing"
	"time"

	"orderstock/loadtest/locks"
	"orderstock/pkg/servers/serverstest"
)

// TestPausedHolder stops the holder's process past its session, again and again. ZooKeeper gives the
// lock to the next process, while the stopped one later goes on and writes: two believe that they hold
// the lock, and only the token keeps the late write out.
// It takes 15 s: a session expires in each pause.
func TestPausedHolder(t *testing.T) {
	t.Parallel()
	const sessionTimeout = 1500 * time.Millisecond
	register := newRegister(t)
	worked := contenders{
		Servers: []string{serverstest.ZooKeeper(t).Addr()}, Path: serverstest.ZooKeeperRoot(t) + "/lock",
		SessionTimeout: sessionTimeout, Goroutines: 2, Handoff: 8, Hold: 30 * time.Millisecond,
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	awaitGrant := func(p *locks.Process, skip int) {
		t.Helper()
		_, err := p.Await(skip, locks.Granted, soon)
		must(err)
	}
	var processes []*locks.Process
	for range 2 {
		p, err := locks.Start(t.Context(), []string{worker[0], worker[1], register.addr()}, worked)
		must(err)
		t.Cleanup(p.Kill)
		awaitGrant(p, 0)
		processes = append(processes, p)
	}
	pauses := 6
	if testing.Short() {
		pauses = 4
	}
	bit := func() bool {
		var all []holding
		for _, p := range processes {
			all = append(all, holdings(p.History())...)
		}
		late := slices.ContainsFunc(register.log(), func(a attempt) bool { return !a.accepted })
		return late && overlaps(all) > 0
	}
	// A slow machine may stop each of them between two holds.
	for i := 0; i < pauses || i < 16 && !bit(); i++ {
		victim, other := processes[i%2], processes[(i+1)%2]
		awaitGrant(victim, len(victim.History())) // and holds, for a few milliseconds more
		must(victim.Pause())
		seen := len(other.History())
		for range 3 { // beyond what it may have had already
			awaitGrant(other, seen)
			seen = len(other.History())
		}
		time.Sleep(sessionTimeout) // so that a victim that was just between two holds loses its session as well
		must(victim.Resume())
		awaitGrant(victim, len(victim.History()))
	}
	var histories [][]locks.Record
	var all []holding
	for _, p := range processes {
		must(p.Finish())
		histories = append(histories, p.History())
		all = append(all, holdings(p.History())...)
	}
	must(check(holdings(histories...)))

	// Whether a token is old is decided by when it was granted, not by comparing tokens as the register does.
	grants := map[string]locks.Moment{}
	for _, records := range histories {
		for _, r := range records {
			if r.Phase == locks.Granted {
				grants[r.Token] = r.Return
			}
		}
	}
	var newest locks.Moment
	stale, refused, accepted := 0, 0, 0
	for _, a := range register.log() {
		at := grants[a.token]
		switch {
		case !a.accepted:
			refused++
		case at < newest:
			stale++
		default:
			accepted++
		}
		if a.accepted {
			newest = max(newest, at)
		}
	}
	n := overlaps(all)
	t.Logf("overlaps %d, writes accepted with an old token %d, refused %d, accepted %d", n, stale, refused, accepted)
	if n == 0 {
		t.Error("no two holders overlapped: the pauses did not bite")
	}
	if refused == 0 {
		t.Error("no late write came: the token was not needed")
	}
	if stale != 0 {
		t.Errorf("%d writes with an old token were accepted", stale)
	}
	if accepted == 0 {
		t.Error("no write was accepted")
	}
}
