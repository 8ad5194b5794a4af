package mysqldb

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"gorm.io/gorm"
)

// Evictor ends transactions whose process stopped in the middle, for example because it was paused, and which hold rows
// that others wait for. Without it the server keeps such rows for Options.IdleTimeout.
//
// A transaction counts as stopped if, at three consecutive looks, it blocks another one and its connection waits for a
// statement, and has not run any in between. Only connections of the same user to the same database are ended. If the
// process wakes up, its connection is lost and its transaction has failed. A process that was only slow gets the same
// error and may try again.
//
// It needs the rights that migrations.Bootstrap grants. Without them, the Evictor logs that, and looks again after a
// minute. After any other error it keeps looking.
//
// It is safe for concurrent use; methods on a nil *Evictor are no-ops. Make one with NewEvictor.
type Evictor struct {
	db      *gorm.DB
	log     *slog.Logger
	evicted prometheus.Counter
	turn    chan struct{} // holds a value while a goroutine looks: one at a time is enough
	resumes atomic.Int64  // when it may look again, in ns since 1970: the server did not let it look
}

// NewEvictor returns an Evictor for the database. It registers a counter at metrics, if that is not nil.
func NewEvictor(db *gorm.DB, metrics prometheus.Registerer, log *slog.Logger) *Evictor {
	return &Evictor{db: db, log: log, turn: make(chan struct{}, 1), evicted: promauto.With(metrics).NewCounter(
		prometheus.CounterOpts{
			Name: "mysql_evictions_total",
			Help: "Transactions ended because their process stood still while others waited for their rows.",
		})}
}

const (
	// evictAfter is how long a watched transaction may last before the Evictor looks. A transaction that does not wait
	// takes less, unless the server is overloaded.
	evictAfter = 200 * time.Millisecond
	// evictAgain is the time between two looks. It is longer than MariaDB's cache of its transactions, 100 ms.
	evictAgain = 150 * time.Millisecond
	// evictLooks is the number of consecutive looks that must find a transaction stopped.
	evictLooks = 3
	// evictPause is how long the Evictor pauses if it lacks a right.
	evictPause = time.Minute
	// evictLimit bounds one look.
	evictLimit = time.Second
)

// Watch begins to look for stopped transactions after evictAfter, and keeps looking until stop is called. Use it around
// a transaction that may wait for a row. Callers must call stop.
func (e *Evictor) Watch(ctx context.Context) (stop func()) {
	if e == nil || time.Now().UnixNano() < e.resumes.Load() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	timer := time.AfterFunc(evictAfter, func() {
		defer close(ended)
		e.evict(ctx)
	})
	return func() {
		cancel()
		if !timer.Stop() {
			<-ended
		}
	}
}

// evict looks until ctx ends, but not while another call looks.
func (e *Evictor) evict(ctx context.Context) {
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return
	}
	seen := map[idleTransaction]int{}
	failed := false
	for {
		now, err := e.blocking(ctx)
		if err != nil && ctx.Err() == nil {
			if !failed {
				e.log.Warn("cannot find who holds rows that others wait for", "error", err)
			}
			failed = true
			if isForbidden(err) {
				e.resumes.Store(time.Now().Add(evictPause).UnixNano())
				return
			}
		}
		for _, t := range now {
			if seen[t] == evictLooks-1 {
				e.end(ctx, t)
			}
		}
		seen = again(seen, now)
		select {
		case <-ctx.Done():
			return
		case <-time.After(evictAgain):
		}
	}
}

// again returns the number of consecutive looks that saw each transaction.
func again(seen map[idleTransaction]int, now []idleTransaction) map[idleTransaction]int {
	next := make(map[idleTransaction]int, len(now))
	for _, t := range now {
		next[t] = seen[t] + 1
	}
	return next
}

// idleTransaction is a transaction whose connection waits for a statement.
type idleTransaction struct {
	Connection  uint64
	Transaction string
	Statement   uint64 // number of the last statement: it rises if the transaction makes progress
}

// blocking returns the idle transactions of this user in this database that block others.
func (e *Evictor) blocking(ctx context.Context) ([]idleTransaction, error) {
	ctx, cancel := context.WithTimeout(ctx, evictLimit)
	defer cancel()
	var version string
	if err := e.db.WithContext(ctx).Raw("SELECT VERSION()").Scan(&version).Error; err != nil {
		return nil, fmt.Errorf("ask for the server's version: %w", err)
	}
	query := blockingMySQL
	if strings.Contains(version, "MariaDB") {
		query = blockingMariaDB
	}
	var found []idleTransaction
	if err := e.db.WithContext(ctx).Raw(query).Scan(&found).Error; err != nil {
		return nil, fmt.Errorf("look for idle transactions: %w", err)
	}
	return found, nil
}

const (
	blockingMySQL = `
		SELECT DISTINCT t.processlist_id AS connection, CAST(w.blocking_engine_transaction_id AS CHAR) AS transaction,
			COALESCE((SELECT MAX(s.event_id) FROM performance_schema.events_statements_current s
				WHERE s.thread_id = t.thread_id), 0) AS statement
		FROM performance_schema.data_lock_waits w
		JOIN performance_schema.threads t ON t.thread_id = w.blocking_thread_id
		WHERE t.processlist_command = 'Sleep' AND t.processlist_db = DATABASE()
			AND t.processlist_user = SUBSTRING_INDEX(CURRENT_USER(), '@', 1)`
	blockingMariaDB = `
		SELECT DISTINCT p.id AS connection, CAST(w.blocking_trx_id AS CHAR) AS transaction, p.query_id AS statement
		FROM information_schema.innodb_lock_waits w
		JOIN information_schema.innodb_trx t ON t.trx_id = w.blocking_trx_id
		JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id
		WHERE p.command = 'Sleep' AND p.db = DATABASE() AND p.user = SUBSTRING_INDEX(CURRENT_USER(), '@', 1)`
)

// end ends the connection of t. It ignores a connection that is gone already.
func (e *Evictor) end(ctx context.Context, t idleTransaction) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), evictLimit)
	defer cancel()
	err := e.db.WithContext(ctx).Exec(fmt.Sprintf("KILL %d", t.Connection)).Error
	switch {
	case number(err) == numNoThread:
	case err != nil:
		e.log.Warn("cannot end a transaction that others wait for", "connection", t.Connection, "error", err)
	default:
		e.log.Warn("ended a transaction that others waited for: its process stands still", "connection", t.Connection)
		e.evicted.Inc()
	}
}
