package books_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"orderstock/loadtest/judge/books"
	"orderstock/loadtest/judge/shop"
	"orderstock/pkg/servers"
	"orderstock/pkg/servers/programs"
	"orderstock/pkg/servers/serverstest"
)

// reader returns a reader of books that are described in YAML, in the folder dir.
func reader(t *testing.T, dir, text string) (*books.Reader, *shop.File) {
	t.Helper()
	f, err := shop.Parse([]byte(`target: http://127.0.0.1
stock: {"1": 1}
order: {post: /, json: "{{key}}", repeats: key}
answers: [{status: 200, means: accepted, order: $.id}]
books:
`+text), nil)
	if err != nil {
		t.Fatal(err)
	}
	f.Dir = dir
	r := books.NewReader(f)
	t.Cleanup(r.Close)
	return r, f
}

// read returns the books as text.
func read(t *testing.T, r *books.Reader) string {
	t.Helper()
	b, err := r.Read(t.Context(), shop.Vars{"run": "r1"})
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{fmt.Sprint(b.HasKeys, " ", b.HasState)}
	for _, l := range b.Levels {
		lines = append(lines, l.Product+": "+l.Pieces.String())
	}
	for _, row := range slices.Concat(b.Orders, b.Deductions) {
		lines = append(lines, row.String())
	}
	return strings.Join(lines, "\n")
}

const uuid = "8a1c4b7e-0000-4000-8000-00000000000f"

func TestMySQL(t *testing.T) {
	t.Parallel()
	dsn := serverstest.Database(t)
	other := serverstest.Database(t)
	r, _ := reader(t, "", `  dsn: "`+dsn+`"
  stock: {dsn: "`+other+`", query: "SELECT name AS product, n AS pieces FROM stock;"}
  orders: |
    SELECT id, k AS `+"`key`"+`, product, n AS pieces, state FROM orders WHERE run = '{{run}}'
  deductions: SELECT id AS order_id, product, n AS pieces FROM orders WHERE state = 'SOLD'
  sold: [SOLD]
`)
	exec := func(dsn string, statements ...string) {
		t.Helper()
		if err := r.Exec(t.Context(), dsn, statements); err != nil {
			t.Fatal(err)
		}
	}
	exec(other, `CREATE TABLE stock (name VARBINARY(20), n DECIMAL(12,3)); INSERT INTO stock VALUES ('ticket', 2.500),
		('ticket', 7), ('x', NULL)`)
	exec(dsn, `CREATE TABLE orders (run CHAR(2), id BINARY(16), k VARCHAR(40), product BIGINT, n DECIMAL(8,2),
		state ENUM('SOLD','OFF'),
		at TIMESTAMP DEFAULT NOW())`,
		"INSERT INTO orders (run,id,k,product,n,state) VALUES ('r1', UNHEX('8A1C4B7E00004000800000000000000F'), "+
			"'k-1', 17, 1.00, 'SOLD'), "+
			"('r1', UNHEX('00000000000000000000000000000001'), NULL, NULL, NULL, NULL), ('r2', '', '', 1, 1, 'OFF')")
	want := `true true
ticket: 2.5
ticket: 7
x: 0
order 00000000-0000-0000-0000-000000000001 without items, state NULL
order ` + uuid + `: 1 of product 17, key k-1, state SOLD
order ` + uuid + `: 1 of product 17`
	if got := read(t, r); got != want {
		t.Errorf("read\n%s\nwant\n%s", got, want)
	}
}

func TestPostgreSQL(t *testing.T) {
	t.Parallel()
	server := serverstest.Start(t, servers.StartPostgreSQL, servers.Options{})
	dsn := strings.TrimSuffix(server.DSN("postgres"), "?sslmode=disable") // TLS where the server has it
	r, _ := reader(t, "", `  dsn: "`+dsn+`"
  stock: SELECT name AS product, n AS pieces FROM stock
  orders: SELECT id, key, product, n AS pieces, paid AS state FROM orders
  deductions: SELECT raw AS order_id, product, n AS pieces FROM orders
  sold: [true]
`)
	err := r.Exec(t.Context(), dsn, []string{
		`CREATE TABLE stock (name TEXT, n NUMERIC(12,3)); INSERT INTO stock VALUES ('ticket', 2.500), ('x', NULL)`,
		`CREATE TABLE orders (id UUID, raw BYTEA, key UUID, product INT, n REAL, paid BOOLEAN, at TIMESTAMPTZ DEFAULT now())`,
		`INSERT INTO orders VALUES ('` + strings.ToUpper(uuid) + `', '\x8A1C4B7E00004000800000000000000F',
			gen_random_uuid(), 17, 1, true)`,
		`UPDATE orders SET key = id`,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `true true
ticket: 2.5
x: 0
order ` + uuid + `: 1 of product 17, key ` + uuid + `, state true
order ` + uuid + `: 1 of product 17`
	if got := read(t, r); got != want {
		t.Errorf("read\n%s\nwant\n%s", got, want)
	}
}

// The two tables of one database are read from one snapshot, even while orders move from one to the other.
func TestOneSnapshot(t *testing.T) {
	t.Parallel()
	dsn := serverstest.Database(t)
	r, _ := reader(t, "", `  dsn: "`+dsn+`"
  stock: SELECT 1 AS product, COUNT(*) AS pieces FROM orders
  orders: SELECT id, 1 AS product, 1 AS pieces FROM orders
`)
	if err := r.Exec(t.Context(), dsn, []string{"CREATE TABLE orders (id INT PRIMARY KEY AUTO_INCREMENT)"}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	writing := make(chan error, 1)
	writer, _ := reader(t, "", "  dsn: \""+dsn+"\"\n  stock: SELECT 1 AS product, 1 AS pieces\n")
	go func() {
		for {
			err := writer.Exec(ctx, dsn, []string{"INSERT INTO orders () VALUES ()"})
			if ctx.Err() != nil {
				err = nil
			}
			if err != nil || ctx.Err() != nil {
				writing <- err
				return
			}
		}
	}()
	for range 200 {
		b, err := r.Read(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if level := b.Stock()["1"]; level != shop.Pieces(len(b.Orders))*shop.Whole {
			t.Fatalf("the stock says %s orders, the orders are %d", level, len(b.Orders))
		}
	}
	stop()
	if err := <-writing; err != nil {
		t.Error(err)
	}
}

func TestACommandPrintsCSV(t *testing.T) {
	t.Parallel()
	sqlite, err := programs.SQLite.Find()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command(sqlite, filepath.Join(dir, "shop.db"),
		`CREATE TABLE stock (name, n); INSERT INTO stock VALUES ('a "b", c', 2.5), ('x', NULL);
		CREATE TABLE orders (id, product, n, state); INSERT INTO orders VALUES (7, 'x', 1, NULL);`)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r, _ := reader(t, dir, `  command: `+sqlite+` -csv -header shop.db
  stock: SELECT name AS product, n AS pieces FROM stock
  orders: SELECT id, product, n AS pieces, state FROM orders
  deductions: SELECT id AS order_id, product, n AS pieces FROM orders WHERE 0
  sold: [null]
`)
	want := "false true\na \"b\", c: 2.5\nx: 0\norder 7: 1 of product x, state NULL"
	if got := read(t, r); got != want {
		t.Errorf("read\n%s\nwant\n%s", got, want)
	}
}

// SQLite is read, and written by a step, by the path of its file.
func TestSQLite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, _ := reader(t, dir, `  dsn: "sqlite:a shop?.db"
  stock: SELECT name AS product, n AS pieces FROM stock
  orders: SELECT id, product, n AS pieces, state FROM orders
  sold: [null]
`)
	const file = "sqlite:a shop?.db"
	if _, err := r.Read(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "unable to open database file") {
		t.Errorf("without the file: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a shop?.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := r.Exec(t.Context(), file, []string{
		"CREATE TABLE stock (name, n)", `INSERT INTO stock VALUES ('a "b", c', 2.5), ('x', NULL)`,
		"CREATE TABLE orders (id, product, n, state); INSERT INTO orders VALUES (7, 'x', 1, NULL)",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "false true\na \"b\", c: 2.5\nx: 0\norder 7: 1 of product x, state NULL"
	if got := read(t, r); got != want {
		t.Errorf("read\n%s\nwant\n%s", got, want)
	}
	row, err := r.Row(t.Context(), file, "SELECT 7 AS id, name FROM stock")
	if err != nil || row["id"] != "7" || row["name"] != `a "b", c` {
		t.Errorf("row %v, %v", row, err)
	}
}

// Redis is read by one command for each part.
func TestRedis(t *testing.T) {
	t.Parallel()
	dsn := fmt.Sprintf("redis://%s/%d", serverstest.Redis(t).Addr(), serverstest.RedisDB(t))
	for text, want := range map[string]string{
		"stock: GET left": "false false\n1: 7",
		"stock: GET none": "false false",
		"stock: HGETALL stock\n  orders: SMEMBERS buyers": "false false\ntea: 2.5\ncup: 1\norder k1: 1 of product 1",
		"stock: GET left\n  orders: LRANGE '{{run}} orders' 0 -1\n  sold: [PAID]": "true true\n1: 7\n" +
			"order 12345678901234567: 2 of product tea, key k1, state PAID\norder 2: 1 of product cup, state NULL",
	} {
		r, _ := reader(t, "", "  dsn: "+dsn+"\n  "+text+"\n")
		err := r.Exec(t.Context(), dsn, []string{
			"FLUSHDB", "SET left 7", "HSET stock tea 2.5 cup 1", "SADD buyers k1",
			`RPUSH "r1 orders" '{"id":12345678901234567,"key":"k1","product":"tea","pieces":2,"state":"PAID"}'`,
			`RPUSH "r1 orders" '{"order_id":2,"product":"cup","pieces":1}'`,
		})
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Split(read(t, r), "\n") // the levels are sorted by name
		wanted := strings.Split(want, "\n")
		slices.Sort(got)
		slices.Sort(wanted)
		if !slices.Equal(got, wanted) {
			t.Errorf("%s: read %q, want %q", text, got, wanted)
		}
		if row, err := r.Row(t.Context(), dsn, "GET left"); err != nil || row["value"] != "7" {
			t.Errorf("row %v, %v", row, err)
		}
	}
	for text, want := range map[string]string{
		"stock: SMEMBERS buyers": "want names and pieces by turns", "orders: GET left": "want a list",
		"stock: GET": "wrong number of arguments", "stock: GET 'x": "a quote ' is not closed",
	} {
		r, _ := reader(t, "", "  dsn: "+dsn+"\n  "+text+"\n")
		if _, err := r.Read(t.Context(), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}

func TestWrongQueriesAreNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"  command: cat >&2; exit 3\n  stock: SELECT 1", "the command of books.stock: exit status 3: SELECT 1"},
		{"  command: echo\n  stock: SELECT 1", "printed nothing"},
		{
			"  command: echo a,b\n  stock: SELECT 1",
			"the query of books.stock has the columns a, b: want product and pieces",
		},
		{"  command: echo id,product\n  orders: x", "want id, product and pieces"},
		{
			"  command: printf 'product,pieces\\na,some'\n  stock: SELECT 1",
			`the query of books.stock: "some" is no number of pieces`,
		},
	} {
		r, _ := reader(t, "", c.text+"\n")
		if _, err := r.Read(t.Context(), nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", c.text, err, c.want)
		}
	}
}

// A server of another kind, or a port of something else, may never say a word.
func TestASilentDatabaseIsNamed(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	for _, kind := range []string{"mysql", "postgres"} {
		r, _ := reader(t, "", fmt.Sprintf("  dsn: %s://app@%s/app\n  stock: SELECT 1\ntimeout: 200ms\n", kind, silent.Addr()))
		for range 2 { // each phase reads again
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			_, err := r.Read(ctx, nil)
			cancel()
			if want := "says nothing within 200ms"; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v; want %s", kind, err, want)
			}
		}
	}
}

// An error of the connection names the field of the file that leads there.
func TestAConnectionThatFailsNamesItsDSN(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"mysql", "postgres", "redis"} {
		dsn := fmt.Sprintf("%s://%s/1", kind, addr)
		r, _ := reader(t, "", "  dsn: "+dsn+"\n  stock: GET 1\n")
		_, err := r.Read(t.Context(), nil)
		if err == nil || !strings.Contains(err.Error(), "books.dsn: ") {
			t.Errorf("%s: %v; want books.dsn", kind, err)
		}
		err = r.Exec(t.Context(), strings.TrimSuffix(dsn, "1")+"2", []string{"GET 1"})
		if err == nil || strings.Contains(err.Error(), "books.dsn") || !strings.Contains(err.Error(), "dsn: ") {
			t.Errorf("%s, of a step: %v; want dsn", kind, err)
		}
	}
}
