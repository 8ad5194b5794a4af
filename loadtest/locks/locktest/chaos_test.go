package locktest_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/servers/serverstest"
)

// member is a worker process behind a proxy of its own.
type member struct {
	*process
	proxy  *proxy
	orders worker
}

// holder waits until one of the four is about to hold for long, and returns it.
func holder(t *testing.T, members []*member) *member {
	t.Helper()
	for _, m := range members { // earlier ones do not count
		select {
		case <-m.holds:
		default:
		}
	}
	select {
	case <-members[0].holds:
		return members[0]
	case <-members[1].holds:
		return members[1]
	case <-members[2].holds:
		return members[2]
	case <-members[3].holds:
		return members[3]
	case <-time.After(soon):
		t.Fatal("nobody holds for long: all are stuck")
		return nil
	}
}

const goroutines = 5 // of a process

// lengthEnv is the environment variable for how long to disturb, such as "1h".
const lengthEnv = "LOCKTEST_LENGTH"

// TestHistories lets goroutines of several processes contend while processes are killed and
// stopped past their sessions and connections are cut or swallowed, and checks the recorded
// history: mutual exclusion as ZooKeeper sees it, with rising tokens. A counter that all raise while they hold
// must have the number of times.
func TestHistories(t *testing.T) {
	t.Parallel()
	length := time.Minute
	if testing.Short() {
		length = 4 * time.Second
	}
	if text, ok := os.LookupEnv(lengthEnv); ok {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatalf("%s: %v", lengthEnv, err)
		}
	}
	for name, handoff := range map[string]int{"hand-off": 64, "no hand-off": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for left := length; left > 0 && !t.Failed(); left -= time.Minute {
				disturb(t, handoff, min(left, time.Minute)) // longer histories take the checker too long
			}
		})
	}
}

func disturb(t *testing.T, handoff int, length time.Duration) {
	const (
		processes      = 4
		sessionTimeout = 1500 * time.Millisecond
	)
	root := serverstest.ZooKeeperRoot(t)
	path, counter := root+"/lock", root+"/counter"
	if _, err := direct(t).Conn().Create(counter, []byte("0"), 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	members := make([]*member, processes)
	var histories [][]record
	var believers []belief // of processes that were never stopped
	for i := range members {
		p := newProxy(t, serverstest.ZooKeeper(t).Addr())
		m := &member{proxy: p, orders: worker{
			Servers: p.servers(), Path: path, SessionTimeout: sessionTimeout,
			Counter: counter, Goroutines: goroutines, Handoff: handoff,
			Hold: 4 * time.Millisecond, LongHold: sessionTimeout * 7 / 4,
		}}
		m.process = startProcess(t, m.orders)
		members[i] = m
	}
	retire := func(m *member) {
		records := m.history()
		histories = append(histories, records)
		if !m.paused {
			believers = append(believers, beliefs(records)...)
		}
	}
	for _, m := range members {
		m.wait(t, 0, granted, soon)
	}

	away := sessionTimeout * 3 / 2
	faults := []func(){
		func() { // cut off past its session, and knows it
			m := holder(t, members)
			m.proxy.away()
			time.AfterFunc(away, m.proxy.back)
		},
		func() { members[rand.IntN(processes)].proxy.cut() },
		func() { // killed: another process takes its place
			m := members[rand.IntN(processes)]
			m.kill()
			retire(m)
			m.process = startProcess(t, m.orders)
		},
		func() { holder(t, members).proxy.cut() },
		func() { // stopped past its session, and does not know it
			p := holder(t, members).process
			p.pause(t)
			time.AfterFunc(away, func() { _ = p.cmd.Process.Signal(resumeSignal) })
		},
	}
	begin := time.Now()
	for i := 0; time.Since(begin) < length || i < len(faults); i++ {
		faults[i%len(faults)]()
		time.Sleep(rand.N(time.Second)) // faults come as they come
	}
	time.Sleep(away) // the last ones end
	for _, m := range members {
		m.wait(t, m.count(), granted, soon) // everybody goes on
	}
	for _, m := range members {
		m.finish(t)
		retire(m)
	}
	checkHistory(t, histories...)
	checkTally(t, histories)
	checkCounter(t, counter, histories)
	if n := overlaps(believers); n != 0 {
		t.Errorf("%d pairs of holders that were never stopped thought at once that they held", n)
	}
	awaitChildren(t, direct(t), path, 0, 3*sessionTimeout)
}

// checkCounter fails the test if the counter has not been raised as often as the processes say.
func checkCounter(t *testing.T, counter string, histories [][]record) {
	t.Helper()
	certain, unknown := 0, 0
	for _, records := range histories {
		for _, r := range records {
			switch {
			case r.Phase == counted && r.Err == "":
				certain++
			case r.Phase == counted:
				unknown++
			}
		}
		unknown += goroutines // the process may have been killed before they said so
	}
	data, _, err := direct(t).Conn().Get(counter)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(string(data))
	if err != nil || n < certain || n > certain+unknown {
		t.Errorf("the counter says %q after it was raised %d times, or up to %d more", data, certain, unknown)
	}
	t.Logf("the counter says %d: raised %d times, and up to %d more", n, certain, unknown)
}

// checkTally fails the test if the faults had no effect.
func checkTally(t *testing.T, histories [][]record) {
	t.Helper()
	count := map[phase]int{}
	for _, records := range histories {
		for _, r := range records {
			count[r.Phase]++
		}
	}
	t.Logf("%v in %d processes", count, len(histories))
	if count[granted] < 100 {
		t.Errorf("only %d grants", count[granted])
	}
	if count[lost] == 0 {
		t.Error("no holder lost its lock: the faults did not bite")
	}
}
