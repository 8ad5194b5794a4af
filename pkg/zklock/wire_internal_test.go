package zklock

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// On a session that goes on, no answer is seen before the library has asked for its watches anew:
// it goes by the number of the last answer. Where it has none, answers come after a while all the same.
func TestAnswersWaitForTheWatches(t *testing.T) {
	for name, test := range map[string]struct {
		asks bool
		want time.Duration
	}{
		"with watches":    {true, 100 * time.Millisecond},
		"without watches": {false, rewatchPatience},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, server := net.Pipe()
				defer func() { _, _ = client.Close(), server.Close() }()
				w := &wire{Conn: client, monitor: NewMonitor(nil), lease: &lease{id: 1}, rewatched: make(chan struct{})}
				answer := binary.BigEndian.AppendUint32(nil, answerHeader-4)
				go func() { _, _ = server.Write(append(answer, make([]byte, answerHeader-4)...)) }()
				go func() { _, _ = io.Copy(io.Discard, server) }()
				begin := time.Now()
				var library sync.WaitGroup
				if test.asks {
					library.Go(func() {
						time.Sleep(50 * time.Millisecond)
						_, _ = w.Write(make([]byte, 16)) // another request is none for watches
						time.Sleep(50 * time.Millisecond)
						_, _ = w.Write(binary.BigEndian.AppendUint32(make([]byte, requestHeader), opSetWatches))
					})
				}
				if _, err := w.Read(make([]byte, answerHeader)); err != nil {
					t.Fatal(err)
				}
				if waited := time.Since(begin); waited != test.want {
					t.Errorf("an answer after %s, want %s", waited, test.want)
				}
				library.Wait()
			})
		})
	}
}
