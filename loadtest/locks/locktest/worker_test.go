package locktest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sys/unix"

	"orderstock/loadtest/locks"
	"orderstock/pkg/zkclient"
	"orderstock/pkg/zklock"
)

// contenders are one process of them, for one lock.
type contenders struct {
	Servers        []string
	Path           string
	Goroutines     int
	Hold           time.Duration // the longest time of holding
	LongHold       time.Duration // how long once for each line of the orders
	SessionTimeout time.Duration
	Handoff        int    // hand-overs within the process; 1 turns them off
	Counter        string // path of a node whose number to raise while holding, or ""

	// holding is called under each lock, even if it was lost. It may be nil.
	holding func(ctx context.Context, token string) error
}

// work is the process that locks.Start starts, with its last argument. It contends until the orders end.
func work(text string, orders io.Reader, out io.Writer, holding func(ctx context.Context, token string) error) error {
	w := contenders{holding: holding}
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return err
	}
	log := &recorder{out: json.NewEncoder(out)}
	return errors.Join(w.contend(context.Background(), orders, log), log.err)
}

// now reads the clock of the records.
func now() locks.Moment {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(fmt.Sprintf("read the monotonic clock: %v", err)) // the clock always exists
	}
	return locks.Moment(ts.Nano())
}

// holdLong returns once a contender of the process holds the lock and will do so for long.
func holdLong(p *locks.Process, limit time.Duration) error {
	seen, err := p.Order("\n")
	if err == nil {
		_, err = p.Await(seen, locks.Settled, limit)
	}
	return err
}

// acquireLimit bounds one acquisition: under faults it may rightly fail, but not hang.
const acquireLimit = 20 * time.Second

// silent keeps the log of the locks out of the output.
var silent = zklock.WithLogger(slog.New(slog.DiscardHandler))

// contend contends until orders ends. After each line of orders, one acquisition holds for LongHold.
func (w contenders) contend(ctx context.Context, orders io.Reader, log *recorder) (err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var long atomic.Int64
	go func() { // ends with the process, whose input it waits for
		for lines := bufio.NewScanner(orders); lines.Scan(); {
			long.Add(1)
		}
		stop()
	}()
	session, err := zklock.Connect(ctx, w.Servers, zklock.WithSessionTimeout(w.SessionTimeout), silent)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	log.add(locks.Record{Phase: locks.Connected}, nil)
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
func (w contenders) acquisition(
	ctx context.Context, session *zklock.Session, mutex *zklock.Mutex, g int, long *atomic.Int64, log *recorder,
) {
	limited, cancel := context.WithTimeout(ctx, acquireLimit)
	defer cancel()
	call := now()
	lock, err := mutex.Acquire(limited)
	if err != nil {
		log.add(locks.Record{Contender: g, Phase: locks.Failed, Call: call, Return: now()}, err)
		return
	}
	token := lock.Token().String()
	log.add(locks.Record{Contender: g, Phase: locks.Granted, Token: token, Call: call, Return: now()}, nil)
	end := make(chan locks.Moment, 1)
	kept := context.AfterFunc(lock.Context(), func() { end <- now() })
	hold := rand.N(w.Hold + 1)
	if n := long.Load(); n > 0 && long.CompareAndSwap(n, n-1) {
		hold = w.LongHold
		log.add(locks.Record{Contender: g, Phase: locks.Settled, Token: token}, nil)
	}
	select {
	case <-lock.Context().Done():
	case <-time.After(hold):
	case <-ctx.Done(): // the work ends
	}
	if w.holding != nil {
		// A holder that was stopped between the look above and this call does not know that it is late.
		if err := w.holding(context.WithoutCancel(ctx), token); err != nil {
			log.add(locks.Record{Contender: g, Phase: locks.Failed, Token: token}, err)
		}
	}
	if w.Counter != "" {
		w.count(limited, session, lock, g, log)
	}
	if !kept() { // the calls above may have waited for a connection long after the loss
		log.add(locks.Record{Contender: g, Phase: locks.Lost, Token: token, Call: <-end}, nil)
	}
	call = now()
	// The release is not to be cut short by the end of the work.
	err = lock.Release(context.WithoutCancel(limited))
	log.add(locks.Record{Contender: g, Phase: locks.Released, Token: token, Call: call, Return: now()}, err)
}

// count raises the counter in ZooKeeper by a read and a write that Lock.Guard protects, even if the holder has lost
// the lock and does not know: another holder between the two would make one of them count for nothing.
func (w contenders) count(ctx context.Context, session *zklock.Session, lock *zklock.Lock, g int, log *recorder) {
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
	log.add(locks.Record{Contender: g, Phase: locks.Counted, Token: lock.Token().String()}, err)
}

type recorder struct {
	mu  sync.Mutex
	out *json.Encoder
	err error
}

// add writes a record of a step that ended with err.
func (r *recorder) add(rec locks.Record, err error) {
	if err != nil {
		rec.Err = err.Error()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.out.Encode(rec); err != nil && r.err == nil {
		r.err = fmt.Errorf("write record: %w", err)
	}
}
