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

// Evictor ends transactions whose process stopped in the middle, for example because it was paused, and which hold
// rows that others wait for. By itself the server keeps such rows for Options.IdleTimeout.
//
// A transaction counts as stopped if, at two looks in a row, it blocks another one and its connection waits for a
// statement. Only connections of the same user to the same database are ended. If the process goes on, its connection
// is lost and its transaction has failed. A process that was only slow gets the same error and may try again.
//
// It needs the rights that migrations.Bootstrap grants. If the server refuses the look, the Evictor logs that once
// and does not look again.
//
// Safe for concurrent use; a nil Evictor does nothing. Make one with NewEvictor.
type Evictor struct {
	db      *gorm.DB
	log     *slog.Logger
	evicted prometheus.Counter
	turn    chan struct{} // holds a value while a goroutine looks: one at a time is enough
	refused atomic.Bool   // the server did not let it look
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
	// evictLimit bounds one look.
	evictLimit = time.Second
)

// Watch begins to look for stopped transactions after evictAfter, and looks again and again until stop is called. Use
// it around a transaction that may wait for a row. Callers must call stop.
func (e *Evictor) Watch(ctx context.Context) (stop func()) {
	if e == nil || e.refused.Load() {
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
	var before map[idleTransaction]bool
	for {
		now, err := e.blocking(ctx)
		if err != nil {
			if ctx.Err() == nil {
				e.log.Warn("cannot find who holds rows that others wait for", "error", err)
			}
			e.refused.Store(IsRefusal(err))
			return
		}
		for t := range now {
			if before[t] {
				e.end(ctx, t)
			}
		}
		before = now
		select {
		case <-ctx.Done():
			return
		case <-time.After(evictAgain):
		}
	}
}

// idleTransaction is a transaction whose connection waits for a statement.
type idleTransaction struct {
	Connection  uint64
	Transaction string
}

// blocking returns the idle transactions of this user in this database that others wait for.
func (e *Evictor) blocking(ctx context.Context) (map[idleTransaction]bool, error) {
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
	all := make(map[idleTransaction]bool, len(found))
	for _, t := range found {
		all[t] = true
	}
	return all, nil
}

const (
	blockingMySQL = `
		SELECT t.processlist_id AS connection, CAST(w.blocking_engine_transaction_id AS CHAR) AS transaction
		FROM performance_schema.data_lock_waits w
		JOIN performance_schema.threads t ON t.thread_id = w.blocking_thread_id
		WHERE t.processlist_command = 'Sleep' AND t.processlist_db = DATABASE()
			AND t.processlist_user = SUBSTRING_INDEX(CURRENT_USER(), '@', 1)`
	blockingMariaDB = `
		SELECT p.id AS connection, CAST(w.blocking_trx_id AS CHAR) AS transaction
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
