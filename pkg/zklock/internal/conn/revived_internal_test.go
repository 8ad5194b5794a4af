package conn

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The log names a session as ZooKeeper's log does, also if its number is above 2^63.
func TestSessionInTheLog(t *testing.T) {
	var log bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		m := NewMonitor(nil)
		w := &monitoredConn{monitor: m}
		m.newest = w
		c := newConn(nil, nil, m, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		w.clock = m.established(w, -1<<56, time.Second, Now())
		time.Sleep(2 * time.Second)
		synctest.Wait()
		c.cancel(ErrClosed)
		c.running.Wait()
	})
	if !strings.Contains(log.String(), "session=0xff00000000000000 ") {
		t.Errorf("the log says %q", &log)
	}
}

// A session that answers again on the same connection, after it was over by the local clock, is alive again.
// A process that gets no processor time for a while sees that.
func TestSessionThatAnswersAgainIsAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMonitor(nil)
		w := &monitoredConn{monitor: m}
		m.newest = w
		c := newConn(nil, nil, m, Options{Log: slog.New(slog.DiscardHandler)})
		defer c.running.Wait()
		defer c.cancel(ErrClosed)
		w.clock = m.established(w, 7, time.Second, Now())
		synctest.Wait()
		if c.Lifetime() == nil {
			t.Fatal("a new session is not alive")
		}
		w.probing, w.probeXid = true, 1
		time.Sleep(2 * time.Second)
		w.probeSent = Now()
		if synctest.Wait(); c.Lifetime() != nil {
			t.Fatal("a silent session is alive")
		}
		w.answered(1, 0, 0)
		time.Sleep(lookAgain)
		if synctest.Wait(); c.Lifetime() == nil {
			t.Error("a session that answers again is not alive")
		}
	})
}
