package ladder

import (
	"testing"
	"time"

	"orderstock/pkg/servers"
)

func TestCommitsAreDelayed(t *testing.T) {
	t.Parallel()
	const delay = 300 * time.Millisecond
	m, err := servers.StartMySQL(t.Context(), servers.Options{Dir: t.TempDir(), Args: delayed(delay)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Kill() })
	began := time.Now()
	if err := m.Exec(t.Context(), "CREATE DATABASE later", "CREATE TABLE later.commits (id INT PRIMARY KEY) ENGINE=InnoDB",
		"INSERT INTO later.commits VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < delay {
		t.Errorf("three commits took %s, want %s at least", took, delay)
	}
}
