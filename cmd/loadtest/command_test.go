package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"orderstock/loadtest/tables"
	"orderstock/migrations"
	"orderstock/pkg/command"
	"orderstock/pkg/servers/serverstest"
)

const recorded = `{"format":3,"run":"r","path":"deduct","started":"2026-01-02T03:04:05Z","elapsed_us":2000000,` +
	`"warmup_us":0,` +
	`"window_us":2000000,"timeout_us":1,"seed":7,"orders":1,"calls":1,"goods":[{"id":"11","stock":5,"price":100}]}
{"line":2,"op":0,"kind":"place","key":"direct-r-0","body":{"items":[{"goods_id":"11","num":2}]},` +
	`"intended_us":0,"sent_us":0,"done_us":3000,"code":200,"status":"DONE",` +
	`"told_items":[{"goods_id":"11","num":2}]}
`

// databases returns the stock database of the recorded history, and both in the environment.
func databases(t *testing.T) *sql.DB {
	t.Helper()
	var stock *sql.DB
	for which, name := range map[string]string{
		migrations.Order: "VERIFY_ORDER_DSN",
		migrations.Stock: "VERIFY_STOCK_DSN",
	} {
		dsn := serverstest.Database(t)
		db, err := sql.Open("mysql", dsn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		if err := migrations.Up(t.Context(), db, which); err != nil {
			t.Fatal(err)
		}
		t.Setenv(name, dsn)
		if which == migrations.Stock {
			stock = db
		}
	}
	for _, s := range []string{
		"INSERT INTO stock (goods_id, name, num, price, updated_at) VALUES (11, 'load test r', 3, 100, NOW(6))",
		"INSERT INTO restocks VALUES ('restock-r-0', 11, 'load test r', 100)",
		"INSERT INTO stock_flow VALUES ('restock-r-0', 11, 'restock', 5, NOW(6)), ('direct-r-0', 11, 'deduct', -2, NOW(6))",
		"INSERT INTO operations (flag, state, items, created_at) VALUES ('direct-r-0', 'DONE', '11:2', NOW(6))",
	} {
		if _, err := stock.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	return stock
}

// program runs the program until ctx ends.
func program(ctx context.Context, args ...string) (out, errs string, exit int) {
	var stdout, stderr bytes.Buffer
	cmd := newCommand(&stdout, &stderr)
	cmd.SetArgs(args)
	exit = command.Run(ctx, cmd)
	return stdout.String(), stderr.String(), exit
}

// interrupter keeps what is written, and interrupts once it has seen a text.
type interrupter struct {
	seen      bytes.Buffer
	at        string
	interrupt func()
}

func (w *interrupter) Write(text []byte) (int, error) {
	defer func() {
		if strings.Contains(w.seen.String(), w.at) {
			w.interrupt()
		}
	}()
	return w.seen.Write(text)
}

// interruptedAt runs the program, and interrupts it once it has printed the text to the standard error.
func interruptedAt(t *testing.T, text string, args ...string) (out, errs string, exit int) {
	t.Helper()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var stdout bytes.Buffer
	stderr := &interrupter{at: text, interrupt: interrupt}
	cmd := newCommand(&stdout, stderr)
	cmd.SetArgs(args)
	exit = command.Run(ctx, cmd)
	if ctx.Err() == nil {
		t.Fatalf("it never printed %q, but\n%s%s", text, &stdout, stderr.seen.String())
	}
	return stdout.String(), stderr.seen.String(), exit
}

// execute runs the program and fails the test if it prints an error.
func execute(t *testing.T, args ...string) (out string, exit int) {
	t.Helper()
	out, errs, exit := program(t.Context(), args...)
	if strings.Contains(errs, "loadtest: ") {
		t.Fatal(errs)
	}
	return out, exit
}

// TestWrongUsage gives each command something that it cannot work with. It must say so, with the exit code 64, and
// start nothing.
func TestWrongUsage(t *testing.T) {
	for _, test := range []struct{ args, env, says string }{
		{"", "", "no command given"},
		{"fault", "", `unknown command "fault"`},
		{"run faults --cell commit/before/kill", "", "unknown flag: --cell"},
		{"run faults nonsense", "", `no table "nonsense". A published fault is A to Q, broken, fixed or here; the tables ar`},
		{"run comit/after/kill", "", `"comit/after/kill"; near: commit/after/kill. A`},
		{"run mutant", "", `"mutant"; near: mutants. A`},
		{"run commit", "", `"commit"; near: commit/after/connection-reset, `},
		{"run commit/before/error@abc", "", `seed "abc"`},
		{"run reply-lost/before", "", "no row and no table"},
		{"run insert-order/before/reply-lost", "", "no row and no table"},
		{"run mutants --tries many", "", `"--tries" flag: want 0 to 1000`},
		{"run faults --random 3", "", "leave --random out"},
		{"run --compose docker", "", "--compose: only a storm takes that"},
		{"bench ladder --strategies groupde", "", `strategy "groupde"`},
		{"bench ladder --clients 0", "", "0 clients"},
		{"bench ladder --stock-services 10001", "", "10001 clients or replicas"},
		{"bench ladder --mysql postgres", "", `--mysql "postgres"`},
		{"bench compare --legs 1", "", `"1" for "--legs" flag: want 2 to`},
		{"bench compare --clients many", "", `"--clients" flag: want 1 to`},
		{"bench compare --old nowhere", "", `--old "nowhere": want a folder`},
		{"bench compare --paths all", "", "--paths all: want"},
		{"bench compare --commit-delay 2s", "", `"--commit-delay" flag: want 0s to 1s`},
		{"bench ladder --commit-delay -1s", "", `"--commit-delay" flag: want 0s to 1s`},
		{"run faults --orders 5", "", "leave --orders out, or the name"},
		{"run A/broken --orders 5", "", "leave --orders out, or the name"},
		{"run A/mended", "", `no table "A/mended". A published fault is A to Q, broken, fixed or here`},
		{"run Z", "", `no table "Z". A published fault is A to Q`},
		{"run commit/before/kill@2 --seed 3", "", "leave --seed out"},
		{"run A/fixed B/fixed --report a.html", "", "name one experiment"},
		{"run A/fixed --seeds 2 --report a.html", "", "without --seeds"},
		{"run A/fixed --seeds 0", "", `"0" for "--seeds" flag: want 1 to 1000`},
		{"run A/fixed --seeds many", "", `"many" for "--seeds" flag: want 1 to 1000`},
		{"run commit/after/kill commit/after/kill --report a.html", "", "name one experiment"},
		{"run A nonsense", "", `no row and no table "nonsense"`},
		{"bench", "", "no command given"},
		{"demo --strategy groupde", "", "want one of unsafe"},
		{"fire --strategy groupde", "", "want one of unsafe"},
		{"fire", "STOCK_STRATEGY=groupde", "want one of unsafe"},
		{"demo --rate 1e-9", "", "rate 1e-09: want 0, or 0.001 to 1000000"},
		{"demo --orders abc", "", `"abc" for "--orders" flag: want 1 to 50000000`},
		{"demo --order-services 0", "", "at least one of each service"},
		{"run storm --random -1", "", `"-1" for "--random" flag: want 0 to 10000`},
		{"run storm --orders 9000", "", "leave --orders out, or the name"},
		{"run --break nonsense", "", "--break"},
		{"run --settle -1s", "", `"--settle" flag: want 1ms to`},
		{"fire --settle -1s", "", `"--settle" flag: want 1ms to`},
		{"fire --samples -1", "", `"--samples" flag: want 1 to`},
		{"verify --samples 0", "", `"--samples" flag: want 1 to`},
		{"fire --settle 0", "", `"--settle" flag: want 1ms to`},
		{"verify --evidence a --history b", "", "none of the others can be"},
		{"verify --settle -1s", "", `"--settle" flag: want 1ms to`},
		{"fire --look-again -1s", "", `"--look-again" flag: want 0s to 24h`},
		{"wait --for -1s", "", "--for -1s: want 0 or more"},
		{"bench locks --window -1s", "", "--window -1s: want 0 or more"},
		{"fire --warmup -1s", "", "--warmup -1s: want 0 or more"},
		{"run --rate 1e-9", "", "rate 1e-09: want 0, or 0.001 to 100000"},
		{"fire --rate 1e-9", "", "rate 1e-09: want 0, or 0.001 to 1000000"},
		{"fire --url http://a:1,", "", `entry 2 of the list "http://a:1," is empty`},
		{"fire --stock-url ,http://a:1", "", "--stock-url"},
		{"fire", "ORDER_URLS=http://a:1,,http://b:1", `ORDER_URLS: entry 2 of the list`},
		{"fire", "SERVICE_TOKEN=two words", "SERVICE_TOKEN must be visible ASCII"},
		{"token", "SERVICE_TOKEN=sesame ", "SERVICE_TOKEN must be visible ASCII"},
		{"token", "SERVICE_TOKEN=", "SERVICE_TOKEN_FILE"},
		{"fire --trace-sample 2", "", "want 0 to 1"},
		{"fire --trace-sample 1", "OTEL_EXPORTER_OTLP_ENDPOINT=", "set OTEL_EXPORTER_OTLP_ENDPOINT"},
		{"console --attach", "CONSOLE_TOKEN=offene Tür, bitte", "CONSOLE_TOKEN must be visible ASCII"},
		{"console --attach --token Schlüsselbund-Nummer", "", "--token must be visible ASCII"},
		{"bench locks --locks zklock,", "", "entry 2 of the list"},
		{"bench ladder --strategies grouped,", "", "entry 2 of the list"},
		{"console --host shop.example,", "", "entry 2 of the list"},
		{"console --attach --watch shop=http://127.0.0.1:1", "", "want order=URL or stock=URL"},
		{"bench locks --locks zk.lock", "", `no lock "zk.lock"`},
		{"bench locks --shapes 4x64", "", `shape "4x64"`},
		{"console --traces 4318", "", "want host:port"},
		{"console --traces 0.0.0.0:4318", "", "add --remote"},
		{"run --rate -1", "", `"--rate" flag: want 0 to 1000000`},
		{"run --rate NaN", "", `"--rate" flag: want 0 to 1000000`},
		{"run --repeat 1.5", "", `"--repeat" flag: want 0 to 1`},
		{"run --cancel -0.1", "", `"--cancel" flag: want 0 to 1`},
		{"run --goods 100000", "", "goods 100000: want 0 to 1000"},
		{"run --stock -5", "", `"--stock" flag: want 1 to 2147483647`},
		{"demo --stock 0", "", `"--stock" flag: want 1 to 2147483647`},
		{"fire --orders 0", "", `"--orders" flag: want 1 to 50000000`},
		{"fire --timeout 0", "", `"--timeout" flag: want 1ms to 24h`},
		{"fire --zipf x", "", `"--zipf" flag: want 0 to 10`},
		{"fire --seed -1", "", `"--seed" flag: want a whole number, 0 or more`},
		{"run --items-max 101", "", `"--items-max" flag: want 1 to 100`},
		{"run --num-max -1", "", `"--num-max" flag: want 1 to 1000000`},
		{"run --duration 5s --warmup 5s", "", "warmup_s 5: want less than duration_s"},
		{"console --attach --listen 8090", "", "want host:port"},
		{"console --attach --listen 127.0.0.1:http", "", "want a port"},
		{"console --attach --listen 0.0.0.0:0", "", "add --remote and a --token"},
		{"console --attach --listen :0", "", "add --remote and a --token"},
		{"console --attach --listen shop.example:0", "CONSOLE_TOKEN=sixteen-characters", "add --remote and a --token"},
		{"console --attach --listen 0.0.0.0:0 --remote", "", "at least 16 characters"},
		{"console --attach --remote", "CONSOLE_TOKEN=fifteen-letters", "at least 16 characters"},
		{"console --attach --host shop.example", "", "--host needs --remote"},
		{"console --attach --strategy groupde", "", `strategy "groupde"`},
	} {
		t.Run(test.args+test.env, func(t *testing.T) {
			if name, value, ok := strings.Cut(test.env, "="); ok {
				t.Setenv(name, value)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // what starts all the same ends
			defer cancel()
			_, errs, exit := program(ctx, append([]string{}, strings.Fields(test.args)...)...)
			if exit != command.Misused || !strings.Contains(errs, test.says) {
				t.Errorf("exit code %d, printed %q; want %d and %q", exit, errs, command.Misused, test.says)
			}
		})
	}
}

// TestCannotTell gives commands something that is not there. They say so, with the exit code 2.
func TestCannotTell(t *testing.T) {
	for _, test := range []struct{ args, env, says string }{
		{"run storm --compose true", "", "the stack is not up: run"},
		{"trace 1 --out nowhere", "", "no console runs here"},
		{"trace 1 --from nowhere/none", "", "no such file"},
		{"trace 1 --from command.go", "", "line 1 is not OTLP"},
		{"trace 1 --from /dev/null", "", "has no spans"},
		{"bench locks worker zklock", "", "read worker"},
		{"verify --evidence nowhere", "", "read evidence"},
	} {
		t.Run(test.args, func(t *testing.T) {
			if _, errs, exit := program(t.Context(), strings.Fields(test.args)...); exit != command.Unknown ||
				!strings.Contains(errs, test.says) {
				t.Errorf("exit code %d, printed %q; want %d and %q", exit, errs, command.Unknown, test.says)
			}
		})
	}
}

func TestTokenIsPrintedAlone(t *testing.T) {
	t.Setenv("SERVICE_TOKEN", "sesame")
	if out, exit := execute(t, "token"); out != "sesame\n" || exit != command.Passed {
		t.Errorf("printed %q with exit code %d", out, exit)
	}
}

// What a table lists are its rows, and each of them can be run by its name.
func TestTablesListTheirRows(t *testing.T) {
	want := map[string]int{
		"faults": len(tables.Cells()), "faults-reduced": len(tables.Reduced()), "faults-cluster": len(tables.OfCluster()),
		"faults-cluster-reduced": 1, "mutants": len(tables.Mutants()),
		"tour": len(tables.Sides) * len(tables.Published), "storm": 1, "storm-local": 1,
	}
	all, exit := execute(t, "run", "--list")
	if strings.Count(all, "\n") != len(want) || exit != command.Passed {
		t.Errorf("exit code %d, printed %s; want %d tables", exit, all, len(want))
	}
	for table, rows := range want {
		out, exit := execute(t, "run", table, "--list")
		if n := strings.Count(out, "\n"); exit != command.Passed || n != rows || !strings.Contains(all, "  "+table+" ") {
			t.Errorf("%s: exit code %d, %d rows, want %d", table, exit, n, rows)
		}
		for line := range strings.Lines(out) {
			if _, err := new(runConfig).named(strings.TrimSpace(line), false); err != nil {
				t.Errorf("%s: %v", table, err)
			}
		}
	}
	for args, want := range map[string]string{
		"A b/fixed c/here": "A/broken\nA/fixed\nA/here\nB/fixed\nC/here\n", "commit/after/kill@3": "commit/after/kill\n",
	} {
		if out, exit := execute(t, append([]string{"run", "--list"}, strings.Fields(args)...)...); out != want || exit != 0 {
			t.Errorf("%s: exit code %d, printed %q, want %q", args, exit, out, want)
		}
	}
}

func TestVerifyPrintsSavesAndExitsAsItJudges(t *testing.T) {
	stock := databases(t)
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "history.jsonl"), []byte(recorded), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		change string
		args   []string
		exit   int
		line   string
	}{
		{
			"",
			[]string{"--out", folder},
			0,
			"VERDICT: PASS orders=1 confirmed=1 rejected=0 cancelled=0 pending=0 oversold=0 double_deducted=0 " +
				"unlocked=1 served=1 repeated=0 calm=100%",
		},
		{
			"",
			[]string{"--out", folder, "--history", folder + "/none"},
			2,
			"VERDICT: UNKNOWN orders=0 confirmed=0 rejected=0 cancelled=0 pending=0 oversold=0 double_deducted=0 " +
				"served=0 repeated=0 calm=0%",
		},
		{
			"UPDATE stock SET num = 4",
			[]string{"--out", folder},
			1,
			"VERDICT: VIOLATION orders=1 confirmed=1 rejected=0 cancelled=0 pending=0 oversold=0 double_deducted=0 " +
				"unlocked=1 served=1 repeated=0 calm=100%",
		},
	} {
		if step.change != "" {
			if _, err := stock.ExecContext(t.Context(), step.change); err != nil {
				t.Fatal(err)
			}
		}
		out, exit := execute(t, append([]string{"verify"}, step.args...)...)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if exit != step.exit || lines[len(lines)-1] != step.line {
			t.Errorf("exit code %d, want %d; last line\n%s\nwant\n%s", exit, step.exit, lines[len(lines)-1], step.line)
		}
	}
}

func TestVerdictAsJSON(t *testing.T) {
	databases(t)
	folder := t.TempDir()
	file := filepath.Join(folder, "v.json")
	if err := os.WriteFile(filepath.Join(folder, "history.jsonl"), []byte(recorded), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ := execute(t, "verify", "--json", "--out", file)
	saved, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(saved) != out {
		t.Error("the printed output differs from the saved one")
	}
	var v map[string]any
	if err := json.Unmarshal(saved, &v); err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range v {
		names = append(names, name)
	}
	slices.Sort(names)
	want := []string{
		"calm", "cancelled", "confirmed", "double_deducted", "invariants", "orders", "orders_per_s", "oversold",
		"p50_ms", "p99_ms", "pending", "rejected", "repeated", "served", "unlocked", "verdict",
	}
	if !slices.Equal(names, want) {
		t.Errorf("fields %v, want %v", names, want)
	}
	first, ok := v["invariants"].([]any)[0].(map[string]any)
	if sample, isList := first["sample"].([]any); !ok || !isList || len(sample) != 0 || len(first) != 4 {
		t.Errorf("invariant %v; want name, what it says, violations, and sample as a list", first)
	}
	if v["verdict"] != "pass" || v["orders_per_s"] != 0.5 || v["p50_ms"] != 3.0 {
		t.Errorf("verdict %v, %v orders/s, p50 %v ms; want pass, 0.5 and 3", v["verdict"], v["orders_per_s"], v["p50_ms"])
	}
}

// A part of a table is not written over the whole, and what is named at once over what was named before.
func TestResultsAreNamedByTheirPart(t *testing.T) {
	faults := fmt.Sprint("faults 1 ", len(tables.Cells()))
	for names, want := range map[string]string{
		"faults": faults, "faults-cluster": "faults-cluster 1 11",
		"faults-reduced":         fmt.Sprint("faults-reduced 1 ", len(tables.Reduced())),
		"faults-cluster-reduced": "faults-cluster-reduced 1 1", "commit/after/kill@3": "faults-cell 3 1",
		"around/during/primary-killed":                   "faults-cluster-cell 1 1",
		"commit/after/kill commit/after/error":           "faults-cell 1 2",
		"commit/after/kill around/during/primary-killed": "faults-cell 1 1, faults-cluster-cell 1 1",
		"commit/after/kill@3 commit/after/kill@4":        "faults-cell 3 1, faults-cell 4 1",
		"commit/after/kill commit/after/kill":            "faults-cell 1 1, faults-cell 1 1",
		"faults commit/after/kill":                       faults + ", faults-cell 1 1",
		"A B":                                            "tour 42 6",
		"A/broken B/broken":                              " 42 1,  42 1",
	} {
		var cfg runConfig
		var got []string
		all, err := cfg.experiments(pflag.NewFlagSet("", 0), nil, strings.Fields(names))
		for _, e := range all {
			got = append(got, fmt.Sprint(e.Name, " ", e.first, " ", len(e.Rows)))
		}
		if got := strings.Join(got, ", "); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", names, got, err, want)
		}
	}
}

// A history stays in memory, so garbage is collected more often while a run is fired or judged, unless GOGC says how
// often.
func TestGarbageIsCollectedOften(t *testing.T) {
	for gogc, want := range map[string]int{"": gcPercent, "200": 100} {
		for _, args := range []string{"fire --stock-url http://127.0.0.1:1", "verify"} {
			t.Setenv("GOGC", gogc)
			was := debug.SetGCPercent(100)
			_, _, exit := program(t.Context(), append(strings.Fields(args), "--out", t.TempDir())...)
			if got := debug.SetGCPercent(was); got != want || exit != command.Unknown {
				t.Errorf("%s, with GOGC=%q: garbage is collected at %d %%, want %d; exit code %d", args, gogc, got, want, exit)
			}
		}
	}
}
