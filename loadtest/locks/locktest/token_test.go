package locktest_test

import (
	"database/sql"
	"testing"

	_ "github.com/go-sql-driver/mysql"

	"orderstock/pkg/servers/serverstest"
	"orderstock/pkg/zklock"
)

// One statement checks the token, does the work and remembers the token.
func TestTokenInSQL(t *testing.T) {
	t.Parallel()
	path := serverstest.ZooKeeperRoot(t) + "/stock"
	db, err := sql.Open("mysql", serverstest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }() // only read from by then
	for _, statement := range []string{
		"CREATE TABLE stock (goods_id BIGINT PRIMARY KEY, num BIGINT NOT NULL, fencing_token BINARY(16) NOT NULL)",
		"INSERT INTO stock VALUES (1001, 10, REPEAT('\\0', 16))",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	deduct := func(token zklock.Token) int64 {
		result, err := db.ExecContext(t.Context(),
			"UPDATE stock SET num = num - 1, fencing_token = ? WHERE goods_id = 1001 AND num >= 1 AND fencing_token <= ?",
			token, token)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := result.RowsAffected()
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	mutex := zklock.NewMutex(direct(t), path)
	var tokens []zklock.Token
	for range 2 {
		lock := acquire(t, mutex, soon)
		tokens = append(tokens, lock.Token())
		if deduct(lock.Token()) != 1 {
			t.Error("the holder was refused")
		}
		release(t, lock)
	}
	if deduct(tokens[0]) != 0 {
		t.Error("a former holder was not refused")
	}
	var num int
	var token zklock.Token
	err = db.QueryRowContext(t.Context(), "SELECT num, fencing_token FROM stock").Scan(&num, &token)
	if err != nil || num != 8 || token != tokens[1] {
		t.Errorf("%d left and token %v, %v; want 8 and %v", num, token, err, tokens[1])
	}
}
