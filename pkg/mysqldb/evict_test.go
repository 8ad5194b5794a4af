package mysqldb_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"gorm.io/gorm"

	"orderstock/pkg/mysqldb"
	"orderstock/pkg/servers/serverstest"
)

// evicting returns a database, an evictor for it and the number of its evictions.
func evicting(t *testing.T) (db *gorm.DB, evictor *mysqldb.Evictor, evictions func() float64) {
	t.Helper()
	db = open(t, mysqldb.Options{LockWait: 10 * time.Second, IdleTimeout: time.Minute})
	metrics := prometheus.NewRegistry()
	evictor = mysqldb.NewEvictor(db, metrics, slog.New(slog.NewTextHandler(t.Output(), nil)))
	return db, evictor, func() float64 {
		n, err := testutil.GatherAndCount(metrics, "mysql_evictions_total")
		if err != nil || n != 1 {
			t.Fatalf("%d counters of evictions: %v", n, err)
		}
		families, err := metrics.Gather()
		must(t, err)
		return families[0].GetMetric()[0].GetCounter().GetValue()
	}
}

// add adds to the row while the evictor watches.
func add(t *testing.T, db *gorm.DB, evictor *mysqldb.Evictor, id int) {
	t.Helper()
	stop := evictor.Watch(t.Context())
	defer stop()
	must(t, db.Exec("UPDATE rows_of_test SET num = num + 1 WHERE id = ?", id).Error)
}

func TestEvictorEndsAStoppedTransaction(t *testing.T) {
	db, evictor, evictions := evicting(t)
	stopped := db.Begin()
	must(t, stopped.Exec("UPDATE rows_of_test SET num = 100 WHERE id = 1").Error)
	began := time.Now()
	add(t, db, evictor, 1) // would wait for as long as LockWait
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the row was free after %s", took)
	}
	if err := stopped.Commit().Error; err == nil {
		t.Error("the stopped transaction has committed")
	}
	var num int
	must(t, db.Raw("SELECT num FROM rows_of_test WHERE id = 1").Scan(&num).Error)
	if num != 1 || evictions() != 1 {
		t.Errorf("the row has %d, and %g transactions were ended; want 1 and 1", num, evictions())
	}
}

// TestEvictorTakesOver has two transactions watched. The one that looks first ends before its second look.
func TestEvictorTakesOver(t *testing.T) {
	db, evictor, evictions := evicting(t)
	stopped := db.Begin()
	must(t, stopped.Exec("UPDATE rows_of_test SET num = 100 WHERE id = 1").Error)
	first := evictor.Watch(t.Context())
	ended := time.AfterFunc(250*time.Millisecond, first)
	defer ended.Stop()
	time.Sleep(20 * time.Millisecond) // first's timer is the earlier one
	add(t, db, evictor, 1)
	if evictions() != 1 {
		t.Errorf("%g transactions were ended, want 1", evictions())
	}
	_ = stopped.Rollback()
}

func TestEvictorSparesOthers(t *testing.T) {
	for name, hold := range map[string]func(t *testing.T, db *gorm.DB) (end func() error){
		"a transaction at work": func(t *testing.T, db *gorm.DB) func() error {
			tx := db.Begin()
			must(t, tx.Exec("UPDATE rows_of_test SET num = 0 WHERE id = 1").Error)
			worked := make(chan error, 1)
			go func() {
				_ = tx.Exec("DO SLEEP(1.2)").Error // MariaDB calls it an error if it is ended
				worked <- tx.Commit().Error
			}()
			return func() error { return <-worked }
		},
		"a transaction of many statements over a slow link": func(t *testing.T, db *gorm.DB) func() error {
			tx := db.Begin()
			must(t, tx.Exec("UPDATE rows_of_test SET num = 0 WHERE id = 1").Error)
			worked := make(chan error, 1)
			go func() {
				for range 30 {
					time.Sleep(50 * time.Millisecond) // the link's
					if err := tx.Exec("UPDATE rows_of_test SET num = num + 1 WHERE id = 2").Error; err != nil {
						worked <- err
						return
					}
				}
				worked <- tx.Commit().Error
			}()
			return func() error { return <-worked }
		},
		"an idle transaction that nobody waits for": func(t *testing.T, db *gorm.DB) func() error {
			idle, busy := db.Begin(), db.Begin()
			must(t, idle.Exec("UPDATE rows_of_test SET num = 0 WHERE id = 2").Error)
			must(t, busy.Exec("UPDATE rows_of_test SET num = 0 WHERE id = 1").Error)
			worked := make(chan error, 1)
			go func() {
				_ = busy.Exec("DO SLEEP(1.2)").Error
				worked <- busy.Commit().Error
			}()
			return func() error {
				if err := <-worked; err != nil {
					return err
				}
				return idle.Commit().Error
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			db, evictor, evictions := evicting(t)
			end := hold(t, db)
			add(t, db, evictor, 1)
			if err := end(); err != nil || evictions() != 0 {
				t.Errorf("%g transactions were ended: %v", evictions(), err)
			}
		})
	}
}

// TestEvictorGoesOnAfterAnError: its user is at the limit of connections at the first looks.
func TestEvictorGoesOnAfterAnError(t *testing.T) {
	dsn, server := serverstest.Database(t), serverstest.MySQL(t)
	cfg, err := mysql.ParseDSN(dsn)
	must(t, err)
	user := "limited_" + cfg.DBName[5:13]
	must(t, server.Exec(t.Context(), "CREATE USER "+user+"@'%' IDENTIFIED BY 'limited' WITH MAX_USER_CONNECTIONS 2",
		"GRANT ALL ON `"+cfg.DBName+"`.* TO "+user+"@'%'", "GRANT PROCESS, SELECT ON *.* TO "+user+"@'%'",
		"CREATE TABLE `"+cfg.DBName+"`.rows_of_test (id INT PRIMARY KEY, num INT NOT NULL) ENGINE = InnoDB",
		"INSERT INTO `"+cfg.DBName+"`.rows_of_test VALUES (1, 0)"))
	t.Cleanup(func() { must(t, server.Exec(context.WithoutCancel(t.Context()), "DROP USER "+user+"@'%'")) })
	db, err := mysqldb.Open(server.DSN(user, "limited", cfg.DBName),
		mysqldb.Options{LockWait: 10 * time.Second, IdleTimeout: time.Minute})
	must(t, err)
	defer func() { must(t, mysqldb.Close(db)) }()
	evictor := mysqldb.NewEvictor(db, nil, slog.New(slog.NewTextHandler(t.Output(), nil)))
	stopped := db.Begin()
	must(t, stopped.Exec("UPDATE rows_of_test SET num = 100 WHERE id = 1").Error)
	raised := make(chan error, 1)
	time.AfterFunc(time.Second, func() {
		raised <- server.Exec(t.Context(), "ALTER USER "+user+"@'%' WITH MAX_USER_CONNECTIONS 9")
	})
	began := time.Now()
	add(t, db, evictor, 1)
	must(t, <-raised)
	if took := time.Since(began); took < time.Second || took > 6*time.Second {
		t.Errorf("the row was free after %s; want the evictor to look until it may connect", took)
	}
	_ = stopped.Rollback()
}
