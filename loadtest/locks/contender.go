package locks

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"orderstock/pkg/zkclient"
	"orderstock/pkg/zklock"
)

// Worker is one process of contenders. They contend for one lock of package zklock until the orders end; or, if Lock is
// set, for one of Names on several paths, in windows.
type Worker struct {
	Servers    []string
	Path       string // before the number, if there are several
	Goroutines int
	Hold       time.Duration // longest time of holding; in windows, how long each holds

	Lock  string `json:",omitempty"`
	Paths int    // for which the contenders of all processes take turns
	First int    // number of this process's first contender

	SessionTimeout time.Duration
	Handoff        int           // hand-overs within the process; 1 turns them off
	LongHold       time.Duration // how long once for each line of the orders
	Counter        string        // path of a node whose number to raise while holding, or ""

	holding func(ctx context.Context, token string) error // may be nil
}

// Work is the process that [Start] starts, with its last argument. It reads orders, a line each, and writes records, a
// line of JSON each, until the orders end. It calls holding, unless it is nil, under each lock of package zklock that
// it has without a measurement, even if the lock was lost.
func Work(
	ctx context.Context, worker string, orders io.Reader, out io.Writer,
	holding func(ctx context.Context, token string) error,
) error {
	w := Worker{holding: holding}
	if err := json.Unmarshal([]byte(worker), &w); err != nil {
		return fmt.Errorf("read worker: %w", err)
	}
	log := &recorder{out: json.NewEncoder(out)}
	work := w.contend
	if w.Lock != "" {
		work = w.measure
	}
	err := work(ctx, orders, log)
	return errors.Join(err, log.err)
}

// acquireLimit bounds one acquisition: under faults it may rightly fail, but not hang.
const acquireLimit = 20 * time.Second

// contend contends until orders ends. After each line of orders, one acquisition holds for LongHold.
func (w Worker) contend(ctx context.Context, orders io.Reader, log *recorder) (err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var long atomic.Int64
	go func() { // ends with the process, whose input it waits for
		for lines := bufio.NewScanner(orders); lines.Scan(); {
			long.Add(1)
		}
		stop()
	}()
	session, err := zklock.Connect(ctx, w.Servers, zklock.WithSessionTimeout(w.SessionTimeout))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	log.add(Record{Phase: Connected}, nil)
	mutex := zklock.NewMutex(session, w.Path, zklock.WithHandoff(w.Handoff, time.Second))
	var all sync.WaitGroup
	for g := range w.Goroutines {
		all.Go(func() {
			for ctx.Err() == nil {
				w.acquisition(ctx, session, mutex, g, &long, log)
			}
		})
	}
	all.Wait()
	return nil
}

// acquisition acquires, holds and releases once, and records each phase as it comes, so that a kill
// loses nothing that was reached.
func (w Worker) acquisition(
	ctx context.Context, session *zklock.Session, mutex *zklock.Mutex, g int, long *atomic.Int64, log *recorder,
) {
	limited, cancel := context.WithTimeout(ctx, acquireLimit)
	defer cancel()
	call := Now()
	lock, err := mutex.Acquire(limited)
	if err != nil {
		log.add(Record{Contender: g, Phase: Failed, Call: call, Return: Now()}, err)
		return
	}
	token := lock.Token().String()
	log.add(Record{Contender: g, Phase: Granted, Token: token, Call: call, Return: Now()}, nil)
	end := make(chan Moment, 1)
	kept := context.AfterFunc(lock.Context(), func() { end <- Now() })
	hold := rand.N(w.Hold + 1)
	if n := long.Load(); n > 0 && long.CompareAndSwap(n, n-1) {
		hold = w.LongHold
		log.add(Record{Contender: g, Phase: Settled, Token: token}, nil)
	}
	select {
	case <-lock.Context().Done():
	case <-time.After(hold):
	case <-ctx.Done(): // the work ends
	}
	if w.holding != nil {
		// A holder that was stopped between the look above and this call does not know that it is late.
		if err := w.holding(context.WithoutCancel(ctx), token); err != nil {
			log.add(Record{Contender: g, Phase: Failed, Token: token}, err)
		}
	}
	if w.Counter != "" {
		w.count(limited, session, lock, g, log)
	}
	if !kept() { // the calls above may have waited for a connection long after the loss
		log.add(Record{Contender: g, Phase: Lost, Token: token, Call: <-end}, nil)
	}
	call = Now()
	// The release is not to be cut short by the end of the work.
	err = lock.Release(context.WithoutCancel(limited))
	log.add(Record{Contender: g, Phase: Released, Token: token, Call: call, Return: Now()}, err)
}

// count raises the counter in ZooKeeper by a read and a write that Lock.Guard protects, even if the holder has lost
// the lock and does not know: another holder between the two would make one of them count for nothing.
func (w Worker) count(ctx context.Context, session *zklock.Session, lock *zklock.Lock, g int, log *recorder) {
	_, err := zkclient.Call(ctx, func() (struct{}, error) {
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
	if errors.Is(err, zk.ErrNoNode) {
		return // the lock was lost: refused
	}
	log.add(Record{Contender: g, Phase: Counted, Token: lock.Token().String()}, err)
}

type recorder struct {
	mu  sync.Mutex
	out *json.Encoder
	err error
}

// add writes a record of a step that ended with err.
func (r *recorder) add(rec Record, err error) {
	if err != nil {
		rec.Err = err.Error()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.out.Encode(rec); err != nil && r.err == nil {
		r.err = fmt.Errorf("write record: %w", err)
	}
}
