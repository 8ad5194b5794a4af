package locktest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zklock"
)

// worker is a contending process's orders. It works until its standard input ends.
type worker struct {
	Servers        []string
	Path           string
	SessionTimeout time.Duration
	Goroutines     int
	Handoff        int           // hand-overs within the process; 1 turns them off
	Hold           time.Duration // longest time of holding
	LongHold       time.Duration // how long every twenty-fifth time, on average; 0 for never
	Register       string        // address of a fenced register to write to while holding, or ""
	Counter        string        // path of a node whose number to raise while holding, or ""
}

// acquireLimit bounds one acquisition of a worker: under faults it may rightly fail, but not hang.
const acquireLimit = 20 * time.Second

// record is one line of a worker's output: how far one acquisition came.
type record struct {
	Goroutine int
	Phase     phase
	Token     string `json:",omitempty"`
	Call      moment `json:",omitempty"` // before the call; of a loss: when it was seen
	Return    moment `json:",omitempty"`
	Err       string `json:",omitempty"`
}

type phase string

const (
	connected phase = "connected"
	granted   phase = "granted"
	settled   phase = "settled"  // the holding will be long
	failed    phase = "failed"   // the acquisition ended without a grant
	lost      phase = "lost"     // the handle's context ended before the release
	released  phase = "released" // Err is set when the outcome is unknown
	counted   phase = "counted"  // the counter was raised; Err is set when the outcome is unknown
)

func (w worker) run(ctx context.Context, orders io.Reader, out io.Writer) (err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() { // ends with the process, whose input it waits for
		_, _ = io.Copy(io.Discard, orders)
		stop()
	}()
	session, err := zklock.Connect(ctx, w.Servers, zklock.WithSessionTimeout(w.SessionTimeout))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	log := &recorder{out: json.NewEncoder(out)}
	log.add(record{Phase: connected})
	mutex := zklock.NewMutex(session, w.Path, zklock.WithHandoff(w.Handoff, time.Second))
	var all sync.WaitGroup
	for g := range w.Goroutines {
		all.Go(func() {
			for ctx.Err() == nil {
				w.acquisition(ctx, session, mutex, g, log)
			}
		})
	}
	all.Wait()
	return log.err
}

// acquisition acquires, holds and releases once, and records each phase as it comes, so that a kill
// loses nothing that was reached.
func (w worker) acquisition(
	ctx context.Context, session *zklock.Session, mutex *zklock.Mutex, g int, log *recorder,
) {
	limited, cancel := context.WithTimeout(ctx, acquireLimit)
	defer cancel()
	call := now()
	lock, err := mutex.Acquire(limited)
	if err != nil {
		log.add(record{Goroutine: g, Phase: failed, Call: call, Return: now(), Err: err.Error()})
		return
	}
	token := lock.Token().String()
	log.add(record{Goroutine: g, Phase: granted, Token: token, Call: call, Return: now()})
	end := make(chan moment, 1)
	kept := context.AfterFunc(lock.Context(), func() { end <- now() })
	hold := rand.N(w.Hold + 1)
	if w.LongHold > 0 && rand.N(25) == 0 {
		hold = w.LongHold
		log.add(record{Goroutine: g, Phase: settled, Token: token})
	}
	select {
	case <-lock.Context().Done():
	case <-time.After(hold):
	case <-ctx.Done(): // the work ends
	}
	if w.Register != "" {
		// A holder that was stopped between the look above and this write does not know that it is late.
		if err := write(w.Register, token); err != nil {
			log.add(record{Goroutine: g, Phase: failed, Token: token, Err: err.Error()})
		}
	}
	if w.Counter != "" {
		w.count(limited, session, lock, g, log)
	}
	if !kept() { // the calls above may have waited for a connection long after the loss
		log.add(record{Goroutine: g, Phase: lost, Token: token, Call: <-end})
	}
	call = now()
	// The release is not to be cut short by the end of the work.
	err = lock.Release(context.WithoutCancel(limited))
	r := record{Goroutine: g, Phase: released, Token: token, Call: call, Return: now()}
	if err != nil {
		r.Err = err.Error()
	}
	log.add(r)
}

// count raises the counter in ZooKeeper by a read and a write that is guarded by the lock, whatever the holder
// believes: another holder between the two would make one of them count for nothing.
func (w worker) count(ctx context.Context, session *zklock.Session, lock *zklock.Lock, g int, log *recorder) {
	_, err := zklock.Call(ctx, func() (struct{}, error) {
		data, _, err := session.Conn().Get(w.Counter)
		if err != nil {
			return struct{}{}, zk.ErrNoNode // nothing was written
		}
		n, err := strconv.Atoi(string(data))
		if err != nil {
			return struct{}{}, err
		}
		_, err = session.Conn().Multi(append(lock.Guard(),
			&zk.SetDataRequest{Path: w.Counter, Data: []byte(strconv.Itoa(n + 1)), Version: -1})...)
		return struct{}{}, err
	})
	r := record{Goroutine: g, Phase: counted, Token: lock.Token().String()}
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return // the lock was lost: refused
	case err != nil:
		r.Err = err.Error()
	}
	log.add(r)
}

type recorder struct {
	mu  sync.Mutex
	out *json.Encoder
	err error
}

func (r *recorder) add(rec record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.out.Encode(rec); err != nil && r.err == nil {
		r.err = fmt.Errorf("write record: %w", err)
	}
}
