package serverstest

import (
	"database/sql"
	"strings"
	"testing"
	"time"
)

// Deadlock runs work and returns the server's report of a deadlock that work caused in the database of db, or "". The
// server counts the deadlocks of all databases, and other tests that share it deadlock on purpose.
func Deadlock(t testing.TB, db *sql.DB, work func()) (report string) {
	t.Helper()
	scan := func(query string, into ...any) {
		t.Helper()
		if err := db.QueryRowContext(t.Context(), query).Scan(into...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	var name, kind, of string
	scan("SELECT DATABASE()", &name)
	count := func() (n int64) {
		scan("SELECT count FROM information_schema.innodb_metrics WHERE name = 'lock_deadlocks'", &n)
		return n
	}
	seen := count()
	look := func() string {
		n := count()
		if n == seen {
			return ""
		}
		seen = n
		var status string
		scan("SHOW ENGINE INNODB STATUS", &kind, &of, &status)
		_, latest, _ := strings.Cut(status, "LATEST DETECTED DEADLOCK")
		latest, _, _ = strings.Cut(latest, "\nTRANSACTIONS\n")
		if !strings.Contains(latest, "`"+name+"`") {
			return ""
		}
		return latest
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
	}()
	for working := true; working; { // look often, as the next deadlock replaces the report
		select {
		case <-done:
			working = false
		case <-time.After(50 * time.Millisecond):
		}
		if report == "" {
			report = look()
		}
	}
	return report
}
