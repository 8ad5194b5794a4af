package readme

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"orderstock/loadtest/tables"
)

// The tables generated from the code are up to date. "make readme" updates them.
func TestTablesAreUpToDate(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	for _, table := range all {
		file, err := os.ReadFile(filepath.Join(root, table.file))
		if err != nil {
			t.Fatal(err)
		}
		text, err := table.text(sources{root: root, out: t.TempDir()}) // results of runs are not looked at
		if err != nil {
			t.Errorf("table %s: %v", table.name, err)
		}
		begin := "<!-- " + table.name + ":begin -->\n"
		if !strings.Contains(string(file), begin+strings.TrimRight(text, "\n")) {
			t.Errorf("table %s of %s is out of date: make readme", table.name, table.file)
		}
	}
}

func TestHelpListsTheEnvironment(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	for _, binary := range helps {
		file, err := os.ReadFile(helpFile(root, binary))
		if err != nil {
			t.Fatal(err)
		}
		if text, err := help(root, binary); err != nil || text != string(file) {
			t.Errorf("%s is out of date: make readme (%v)", helpFile(root, binary), err)
		}
		for _, want := range []string{
			"  MYSQL_DSN (required)\n", "  ZOOKEEPER_ROOT (default /orderstock)\n",
			"  OPS_ADDR (none)\n", "  REDIS_MASTER (none)\n",
		} {
			if !strings.Contains(string(file), want) {
				t.Errorf("no %q in the help of %s", want, binary)
			}
		}
	}
}

// TestEverySettingIsDocumented, wherever the services and migrate declare it. The load tester's flags are in its help.
func TestEverySettingIsDocumented(t *testing.T) {
	t.Parallel()
	root, tag, found := filepath.Join("..", "..", ".."), regexp.MustCompile(`env:"(\w+)`), 0
	documented, err := settings(sources{root: root})
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"cmd", "pkg", "order-service", "stock-service"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, _ fs.DirEntry, err error) error {
			ofLoad := strings.Contains(path, "loadtest") && filepath.Base(path) != "config.go"
			if err != nil || ofLoad || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			code, err := os.ReadFile(path)
			for _, m := range tag.FindAllSubmatch(code, -1) {
				found++
				if !strings.Contains(documented, "`"+string(m[1])+"`") {
					t.Errorf("%s: %s is not documented: is its struct in declared?", path, m[1])
				}
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	if found < 50 {
		t.Errorf("%d settings are declared", found)
	}
}

func TestResultsOfRunsAreTakenFromTheirFiles(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "loadtest"), 0o755); err != nil {
		t.Fatal(err)
	}
	from := sources{root: root, out: out, commit: func(at time.Time) string {
		return map[bool]string{true: "bbb"}[at.Equal(noon)]
	}}
	made := func(name string) (string, error) {
		return all[slices.IndexFunc(all, func(t table) bool { return t.name == name })].text(from)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(out, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(out, name), noon, noon); err != nil {
			t.Fatal(err)
		}
	}
	around := func(fault string, settleMS int) string {
		return fmt.Sprintf(`{"name":"around/during/%s","group":"around","runs":1,"settle_p99_ms":%d},`, fault, settleMS)
	}
	write("faults.json", `{"table":"faults","seeds":1,"rows":[
		{"name":"commit/before/kill","group":"kill","fired":2,"orders":30,"settle_p99_ms":1500},
		{"name":"commit/after/kill","group":"kill","fired":1,"orders":10,"violations":3,"settle_p99_ms":500},
		{"name":"around/during/redis-down","group":"around","fired":1,"orders":10,"settle_p99_ms":220},
		`+around("a", 140)+around("b", 130)+around("c", 120)+around("d", 110)+around("leader-cut+kill", 100)+
		around("redis-down+kill", 90)+strings.TrimSuffix(around("kill+redis-down", 80), ",")+`],
		"total":{"runs":4,"orders":60,"fired":5,"violations":3}}`)
	write("mutants.json", `{"table":"mutants","rows":[
		{"name":"no lock","caught_by":"not-oversold","verdict":"pass"},
		{"name":"no key","expect":{"broken":"unexplained"},"caught_by":"nothing","verdict":"violation"},
		{"name":"nothing broken, baskets","expect":{"absorbed":"nothing to absorb"},"verdict":"pass"},
		{"name":"without Redis","expect":{"absorbed":"the unique key"},"verdict":"pass"},
		{"name":"without the lock","expect":{"absorbed":"the condition"},"verdict":"pass"},
		{"name":"a level off by one","caught_by":"not-oversold","verdict":"pass"},
		{"name":"b","caught_by":"not-oversold","verdict":"pass"},
		{"name":"c","caught_by":"not-oversold","verdict":"pass"},
		{"name":"d","caught_by":"not-oversold","verdict":"pass"}]}`)
	played := func(letter, kind string) string {
		return `{"letter":"` + letter + `","kind":"` + kind + `","broken":{"verdict":"violation","seed":"7",
			"orders_per_s":50,"sentence":"sold 9 of 3"},"fixed":{"verdict":"pass","orders_per_s":110},
			"here":{"verdict":"pass","orders_per_s":120}}`
	}
	rows := make([]string, 0, len(tables.Letters()))
	for _, letter := range tables.Letters() {
		kind := "books"
		if letter == "G" {
			kind = "time"
		}
		rows = append(rows, played(letter, kind))
		switch letter {
		case "C":
			rows[len(rows)-1] = strings.Replace(rows[len(rows)-1], "violation", "pass", 1)
		case "D":
			rows[len(rows)-1] = strings.Replace(rows[len(rows)-1], `"7"`, `"8"`, 1)
		}
	}
	write("tour.json", "["+strings.Join(rows, ",")+"]")
	write("faults-cluster.json", `{"table":"faults-cluster","rows":[
		{"name":"around/during/primary-killed","group":"cluster","orders":1000,"ok":600,"rejected":300,
			"unknown_to_client":100,"writes_again_s":8.26,"retried_503":7,"retried_lost":2,"verdict":"pass"},
		{"name":"around/during/quorum","group":"cluster","verdict":"unknown"}]}`)
	write("lock-bench.json", `{"rows":[{"lock":"zklock","processes":2,"contenders":64,"paths":1,"per_s":812.4,
		"p50_ms":71.5,"p99_ms":140,"wakeups_per_release":1},
		{"lock":"zk.Lock","contenders":65,"hold_ms":1,"p50_ms":90.51,"p99_ms":140,"max_ms":150}]}`)
	ladderRow := func(path, strategy string, perS int) string {
		return fmt.Sprintf(`{"path":%q,"strategy":%q,"replicas":1,"goods":1,"clients":256,"done_per_s":%d,
			"legs_per_s":[%d],"p50_ms":9,"p99_ms":21.5,"verdict":"pass"}`, path, strategy, perS, perS)
	}
	write("ladder.json", `{"server":"MySQL 9","machine":"2 cores","rows":[`+strings.Join([]string{
		ladderRow("deduct", "grouped", 9000), ladderRow("deduct", "direct", 18000), ladderRow("order", "grouped", 2000),
	}, ",")+`]}`)
	write("compare.json", `{"kind":"compare","server":"MySQL 9","rows":[
		{"variant":"old/bin","path":"order","goods":5,"items":3,"replicas":2,"clients":256,"done_per_s":110,
			"ratio":{"ratio":1},"p99_ratio":{"ratio":1},"verdict":"pass"},
		{"variant":"this build","path":"order","goods":5,"items":3,"replicas":2,"clients":256,"done_per_s":130,
			"ratio":{"ratio":1.28,"error":0.04},"p99_ratio":{"ratio":0.86},"handovers_per_s":3.25,"verdict":"pass"}]}`)
	for _, c := range []struct {
		name string
		want []string
	}{
		{"lock-bench", []string{
			"| lock | 64 contenders in 2 processes on 1 path |", "| zklock | 812/s, 72, 140 ms, 1.0 wake-ups |",
			"| zk.Lock | 64 | 1 ms | 90.5 | 140.0 | 150.0 |",
		}},
		{"ladder", []string{
			"on MySQL 9, 2 cores.", "| strategy | deductions, 256 clients | orders, 256 clients | calm |",
			"| `grouped` | 9,000/s, p99 21.5 ms | 2,000/s, p99 21.5 ms | pass |",
			"| `direct` | 18,000/s, p99 21.5 ms | | pass |",
			"| deduct | 1 | 9,000/s | `direct` | 18,000/s | 0.50 |", "one hot product, with 256 clients.",
		}},
		{"compare", []string{
			"| this build | order | 2 | 5 | 3 | 256 | 130 | 1.28 ± 0.04 | 0.86 | 3.2 | pass |",
		}},
		{"cluster-faults", []string{
			"1 of 2 cells pass, 0 violations", "| primary-killed | 1,000 | 600 | 300 | 100 | 8.3 s |",
			"| quorum | 0 | 0 | 0 | 0 | – **(unknown)** |", "primary-killed until they were served: 7 after a 503, 2 after",
		}},
		{"faults", []string{
			"4 runs of 10 cells, 60 orders", "3 violations",
			"| kill | 2 | 3 | 1.5 s **(3 violations, 0 unsettled)** |", "| redis-down | 0.2 s |",
			"| leader-cut+kill | 0.1 s |",
			"| 2 others, alone and in pairs (`loadtest run faults --list`), at most | 0.1 s |",
		}},
		{"mutants", []string{
			"8 of 9 as expected", "| `not-oversold` | no lock; a level off by one; b; 2 others |",
			"| no key | 0 | 0 | 0 | 0 | nothing | unexplained | violation |",
			"| nothing | controls, with nothing broken: baskets |", "| without Redis | the unique key |",
		}},
		{"tour", []string{
			", seed 7.", "| A | violation | pass | pass | sold 9 of 3 |",
			"| G | 50.0 orders/s **(violation)** | 110 orders/s | 120 orders/s | 2.2 times as many orders without it |",
			"| C | **not caught this time** | pass | pass | sold 9 of 3 |",
			"| D | violation | pass | pass | sold 9 of 3 (seed 8) |",
		}},
	} {
		text, err := made(c.name)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range append(c.want, "Measured on 2026-11-22 with the code of `bbb`") {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
	}
	if text, err := made("console"); err != nil || text != "" {
		t.Errorf("a picture that is not there: %q, %v", text, err)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(out, "console"), 0o755),
		os.Mkdir(filepath.Join(root, "loadtest", "console"), 0o755)); err != nil {
		t.Fatal(err)
	}
	write("console/console.png", "PNG")
	write("console/console.json", `{"says": "Sold 9 of 3"}`)
	if text, err := made("console"); err != nil ||
		text != "![Fault A on the stage of the console. Sold 9 of 3](loadtest/console/console.png)" {
		t.Errorf("the picture of the console is %q, %v", text, err)
	}
	for _, name := range []string{"console.png", "console.json"} {
		if data, err := os.ReadFile(filepath.Join(root, "loadtest", "console", name)); err != nil || len(data) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	svg, err := os.ReadFile(filepath.Join(root, "loadtest", "ladder.svg"))
	if err != nil || !bytes.Contains(svg, []byte("<svg")) {
		t.Errorf("ladder.svg is no picture: %v", err)
	}
	write("faults.json", `{"cells":[{"fault":"kill"}]}`)
	if text, err := made("faults"); err != nil || text != "" {
		t.Errorf("results of an older form are taken: %q, %v", text, err)
	}
	write("tour.json", "["+played("A", "books")+"]")
	if text, err := made("tour"); err != nil || text != "" {
		t.Errorf("some of the faults are taken for rows: %q, %v", text, err)
	}
	write("faults.json", "{")
	if _, err := made("faults"); err == nil {
		t.Error("a cut file is taken")
	}
}

// Without the documents, Fill fills nothing and says which tables those are.
func TestFillNamesUnfilledTables(t *testing.T) {
	t.Parallel()
	err := Fill(t.Context(), t.TempDir(), t.TempDir())
	if err == nil {
		t.Fatal("filled the documents of an empty folder")
	}
	for _, want := range []string{"table invariants:", "table case-study-faults:", "help of order-service:"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}

func TestNewestCommit(t *testing.T) {
	t.Parallel()
	repository := t.TempDir()
	git := func(made string, args ...string) {
		t.Helper()
		args = append([]string{"-C", repository, "-c", "user.name=a", "-c", "user.email=a"}, args...)
		c := exec.CommandContext(t.Context(), "git", args...)
		c.Env = append(os.Environ(), "GIT_COMMITTER_DATE="+made)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	git("", "init", "-q")
	if none := newest(t.Context(), repository, time.Now()); none != "" {
		t.Errorf("a repository without a commit has %q", none)
	}
	second := time.Date(2026, 11, 22, 11, 0, 0, 0, time.UTC)
	git("2026-11-22T10:00:00Z", "commit", "-q", "--allow-empty", "-m", "first")
	git(second.Format(time.RFC3339), "commit", "-q", "--allow-empty", "-m", "second")
	now, before := newest(t.Context(), repository, second), newest(t.Context(), repository, second.Add(-time.Second))
	if now == "" || before == "" || now == before || newest(t.Context(), repository, second.Add(-2*time.Hour)) != "" {
		t.Errorf("the newest commit is %q, a second before it %q; want both, and none before the first", now, before)
	}
}
