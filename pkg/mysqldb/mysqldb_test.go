package mysqldb_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"orderstock/pkg/mysqldb"
	"orderstock/pkg/servers/serverstest"
)

func open(t *testing.T, opts mysqldb.Options) *gorm.DB {
	t.Helper()
	db, err := mysqldb.Open(serverstest.Database(t), opts)
	must(t, err)
	t.Cleanup(func() {
		if err := mysqldb.Close(db); err != nil {
			t.Error(err)
		}
	})
	must(t, db.Exec("CREATE TABLE rows_of_test (id INT PRIMARY KEY, num INT NOT NULL) ENGINE = InnoDB").Error)
	must(t, db.Exec("INSERT INTO rows_of_test VALUES (1, 0), (2, 0)").Error)
	return db
}

var must = serverstest.Must

func TestConnectionsAreSetUp(t *testing.T) {
	db := open(t, mysqldb.Options{LockWait: 2 * time.Second, IdleTimeout: 77 * time.Second})
	var wait, idle int
	must(t, db.Raw("SELECT @@innodb_lock_wait_timeout, @@wait_timeout").Row().Scan(&wait, &idle))
	if wait != 2 || idle != 77 {
		t.Errorf("innodb_lock_wait_timeout = %d, wait_timeout = %d; want 2 and 77", wait, idle)
	}
	must(t, open(t, mysqldb.Options{}).Raw("SELECT @@innodb_lock_wait_timeout, @@wait_timeout").Row().Scan(&wait, &idle))
	if wait != 1 || idle != 1 {
		t.Errorf("by default: innodb_lock_wait_timeout = %d, wait_timeout = %d; want 1 and 1", wait, idle)
	}

	// READ COMMITTED: a second look sees the commits in between.
	must(t, db.Transaction(func(tx *gorm.DB) error {
		var before, after int
		must(t, tx.Raw("SELECT num FROM rows_of_test WHERE id = 1").Scan(&before).Error)
		must(t, db.Exec("UPDATE rows_of_test SET num = 7 WHERE id = 1").Error)
		must(t, tx.Raw("SELECT num FROM rows_of_test WHERE id = 1").Scan(&after).Error)
		if before != 0 || after != 7 {
			t.Errorf("looked twice and saw %d, %d; want 0, 7", before, after)
		}
		return nil
	}))
}

func TestTransactRunsDeadlocksAgain(t *testing.T) {
	// Until the deadlock is seen, and for a transaction that waits for the other's first half.
	db := open(t, mysqldb.Options{LockWait: 8 * time.Second, IdleTimeout: time.Minute})
	add := func(tx *gorm.DB, id int) error {
		return tx.Exec("UPDATE rows_of_test SET num = num + 1 WHERE id = ?", id).Error
	}
	var both sync.WaitGroup
	both.Add(2)
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		runs int
	)
	for _, ids := range [][2]int{{1, 2}, {2, 1}} {
		wg.Go(func() {
			first := true
			err := mysqldb.Transact(t.Context(), db, func(tx *gorm.DB) error {
				mu.Lock()
				runs++
				mu.Unlock()
				if err := add(tx, ids[0]); err != nil {
					return err
				}
				if first {
					first = false
					both.Done()
					both.Wait()
				}
				return add(tx, ids[1])
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	var sum int
	must(t, db.Raw("SELECT SUM(num) FROM rows_of_test").Scan(&sum).Error)
	if sum != 4 || runs != 3 {
		t.Errorf("sum %d after %d runs; want 4 after 3: one deadlock, run again as a whole", sum, runs)
	}
}

func TestTransactChangesNothingOnError(t *testing.T) {
	db := open(t, mysqldb.Options{})
	wish := errors.New("not this time")
	err := mysqldb.Transact(t.Context(), db, func(tx *gorm.DB) error {
		must(t, tx.Exec("UPDATE rows_of_test SET num = 99").Error)
		return wish
	})
	if !errors.Is(err, wish) || errors.Is(err, mysqldb.ErrCommitUnknown) {
		t.Errorf("error %v; want the function's own", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = mysqldb.Transact(ctx, db, func(tx *gorm.DB) error {
		must(t, tx.Exec("UPDATE rows_of_test SET num = 99").Error)
		cancel()
		return nil
	})
	if err == nil {
		t.Error("committed under a context that had ended")
	}
	var sum int
	must(t, db.Raw("SELECT SUM(num) FROM rows_of_test").Scan(&sum).Error)
	if sum != 0 {
		t.Errorf("sum %d; want 0", sum)
	}
}

func TestDuplicate(t *testing.T) {
	db := open(t, mysqldb.Options{})
	err := db.Exec("INSERT INTO rows_of_test VALUES (1, 1)").Error
	if !mysqldb.IsDuplicate(err) || mysqldb.IsLockWait(err) || mysqldb.IsDeadlock(err) || !mysqldb.IsRefusal(err) {
		t.Errorf("second row under a key: %v: not reported as that", err)
	}
}

func TestExecTellsWhetherAStatementMayStand(t *testing.T) {
	db := open(t, mysqldb.Options{LockWait: time.Minute, IdleTimeout: time.Minute})
	changed, err := mysqldb.Exec(t.Context(), db, "UPDATE rows_of_test SET num = num + 1")
	if changed != 2 || err != nil {
		t.Errorf("changed %d rows, %v", changed, err)
	}
	for statement, refusal := range map[string]bool{
		"UPDATE no_table SET num = 1": false, "UPDATE rows_of_test SET num = 'x'": true,
	} {
		_, err = mysqldb.Exec(t.Context(), db, statement)
		if err == nil || mysqldb.IsRefusal(err) != refusal || errors.Is(err, mysqldb.ErrCommitUnknown) {
			t.Errorf("refused by the server: %v; a refusal: want %t", err, refusal)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	_, err = mysqldb.Exec(ended, db, "UPDATE rows_of_test SET num = 0")
	if err == nil || errors.Is(err, mysqldb.ErrCommitUnknown) {
		t.Errorf("never sent: %v", err)
	}

	holder := db.Begin()
	must(t, holder.Exec("UPDATE rows_of_test SET num = 7 WHERE id = 1").Error)
	defer holder.Rollback()
	waiting, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	given := make(chan error, 1)
	go func() {
		_, err := mysqldb.Exec(waiting, db, "UPDATE rows_of_test SET num = 8 WHERE id = 1")
		given <- err
	}()
	serverstest.Eventually(t, "the statement waits", func() bool {
		var n int
		must(t, db.Raw("SELECT COUNT(*) FROM information_schema.processlist "+
			"WHERE db = DATABASE() AND info LIKE 'UPDATE rows_of_test SET num = 8%'").Scan(&n).Error)
		return n == 1
	})
	giveUp()
	if err := <-given; !errors.Is(err, mysqldb.ErrCommitUnknown) {
		t.Errorf("sent, and given up while it waited: %v", err)
	}
}
