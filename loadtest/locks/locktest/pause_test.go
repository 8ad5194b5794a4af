package locktest_test

import (
	"syscall"
	"testing"
	"time"

	"orderstock/pkg/servers/serverstest"
)

const resumeSignal = syscall.SIGCONT

// TestPausedHolder stops the holder's process past its session, again and again. ZooKeeper gives the
// lock to the next process, while the stopped one later goes on and writes: two believe that they hold
// the lock, and only the token keeps the late write out.
func TestPausedHolder(t *testing.T) {
	t.Parallel()
	const sessionTimeout = 1500 * time.Millisecond
	register := newRegister(t)
	orders := worker{
		Servers: []string{serverstest.ZooKeeper(t).Addr()}, Path: serverstest.ZooKeeperRoot(t) + "/lock",
		SessionTimeout: sessionTimeout, Goroutines: 2, Handoff: 8, Hold: 30 * time.Millisecond,
		Register: register.addr(),
	}
	processes := []*process{startProcess(t, orders), startProcess(t, orders)}
	for _, p := range processes {
		p.wait(t, 0, granted, soon)
	}
	for i := range 6 {
		victim, other := processes[i%2], processes[(i+1)%2]
		victim.wait(t, victim.count(), granted, soon) // and holds, for a few milliseconds more
		victim.pause(t)
		seen := other.count()
		for range 3 { // beyond what it may have had already
			other.wait(t, seen, granted, soon)
			seen = other.count()
		}
		time.Sleep(sessionTimeout) // so that a victim that was just between two holds loses its session as well
		victim.resume(t)
		victim.wait(t, victim.count(), granted, soon)
	}
	var histories [][]record
	var all []belief
	for _, p := range processes {
		p.finish(t)
		histories = append(histories, p.history())
		all = append(all, beliefs(p.history())...)
	}
	checkHistory(t, histories...)

	// Whether a token is old is decided by when it was granted, not by comparing tokens as the register does.
	grants := map[string]moment{}
	for _, records := range histories {
		for _, r := range records {
			if r.Phase == granted {
				grants[r.Token] = r.Return
			}
		}
	}
	var newest moment
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
