package judge_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"orderstock/loadtest/judge"
	"orderstock/loadtest/verify"
)

// brief is memory without a time to settle.
var brief = strings.Replace(memory, "settle: 1s\n", "", 1)

// kept runs the judge over a right shop with a file, keeps the evidence, and closes the shop.
func kept(t *testing.T, rest string) (dir string, r *judge.Result) {
	t.Helper()
	server := httptest.NewServer(&counter{})
	dir = filepath.Join(t.TempDir(), "out")
	f := parse(t, t.TempDir(), "target: "+server.URL+resetByRequest+rest)
	phases := []string{judge.Alone, judge.Repeated}
	r = run(t, judge.Config{File: f, Name: "shop.yaml", Out: dir, Clients: 4, Phases: phases})
	server.Close()
	return dir, r
}

// edit changes the file beside the evidence.
func edit(t *testing.T, dir, old, new string) {
	t.Helper()
	name := filepath.Join(dir, "shop.yaml")
	text, err := os.ReadFile(name)
	if err != nil || !strings.Contains(string(text), old) {
		t.Fatalf("%v: %q is not in\n%s", err, old, text)
	}
	if err := os.WriteFile(name, []byte(strings.Replace(string(text), old, new, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The verdict by the evidence is the same, although the shop has gone.
func TestAgainIsTheSame(t *testing.T) {
	t.Parallel()
	dir, before := kept(t, brief+`
books:
  command: printf 'id,key,product,pieces,state\n7,x,1,20,NEW\n'
  stock: x
  orders: x
  sold: [SOLD]
settle: 300ms`)
	after, err := judge.Again(t.Context(), dir)
	if err != nil || text(after) != text(before) || len(before.Phases) != 2 {
		t.Errorf("%v\n%s\nwas\n%s", err, text(after), text(before))
	}
}

// After a change of the file, calls and rows that were kept are read by it.
func TestAgainReadsByAChangedFile(t *testing.T) {
	t.Parallel()
	dir, before := kept(t, strings.Replace(memory, "contains: sold out", "contains: no more", 1))
	edit(t, dir, "contains: no more", "$.error: sold out")
	after, err := judge.Again(t.Context(), dir)
	if err != nil || before.Outcome != verify.Unknown || after.Outcome != verify.Pass || after.Phases[0].Rejected != 10 {
		t.Errorf("%v\n%s\nwas\n%s", err, text(after), text(before))
	}
}

// Books that are added to the file later are read, and the verdict is no longer by the answers alone.
func TestAgainReadsAddedBooks(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	f := parse(t, t.TempDir(), serve(t, &counter{})+resetByRequest+memory)
	before := run(t, judge.Config{File: f, Out: dir, Phases: []string{judge.Alone}})
	edit(t, dir, "settle: 1s",
		"books: {orders: {command: 'echo id,product,pieces; for i in $(seq 20); do echo $i,1,1; done'}}")
	after, err := judge.Again(t.Context(), dir)
	if err != nil || !before.AnswersAlone || after.AnswersAlone || after.Outcome != verify.Pass ||
		!slices.Contains(after.Checked, judge.AcceptedIsKept) {
		t.Errorf("%v\n%s\nwas\n%s", err, text(after), text(before))
	}
}

// A changed query is asked for the last phase, whose rows are still there. Rows that are of no order of it are not
// known to be wrong.
func TestAgainAsksAChangedQuery(t *testing.T) {
	t.Parallel()
	shop, rows := &counter{}, filepath.Join(t.TempDir(), "rows.csv")
	const head = "id,product,pieces\nold,1,1\n"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shop.ServeHTTP(w, r)
		shop.mu.Lock()
		defer shop.mu.Unlock()
		text := head
		for _, id := range shop.ids {
			if id > 0 {
				text += fmt.Sprintf("%d,1,1\n", id)
			}
		}
		if err := os.WriteFile(rows, []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}))
	dir := filepath.Join(t.TempDir(), "out")
	f := parse(t, filepath.Dir(rows), "target: "+server.URL+resetByRequest+brief+`
books: {command: "head -1 rows.csv", orders: x}
settle: 300ms`)
	before := run(t, judge.Config{File: f, Out: dir, Clients: 4, Phases: []string{judge.Alone, judge.Repeated}})
	server.Close()
	if before.Outcome != verify.Unknown || !strings.Contains(text(before), "neither the stock nor the orders") {
		t.Errorf("%s", text(before))
	}
	edit(t, dir, "head -1 rows.csv", "cat rows.csv")

	r, err := judge.Again(t.Context(), dir)
	if err != nil || r.Phases[0].Outcome != verify.Unknown || r.Phases[1].Outcome != verify.Pass ||
		!slices.Contains(r.Checked, judge.AcceptedIsKept) || slices.Contains(r.Checked, judge.Unexplained) {
		t.Errorf("%v\n%s", err, text(r))
	}
	all, err := os.ReadFile(rows)
	if err != nil {
		t.Fatal(err)
	}
	for rest, want := range map[string]string{
		strings.Replace(string(all), "\n7,1,1\n", "\n", 1): "order 7 was accepted, and is not in the books",
		head: "no row of an order of the phase repeated",
	} {
		if err := os.WriteFile(rows, []byte(rest), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := judge.Again(t.Context(), dir)
		if !strings.Contains(fmt.Sprint(err, text(r)), want) {
			t.Errorf("%v\n%s\nwant %s", err, text(r), want)
		}
	}
}

// A folder that cannot be used is named before anything is sent.
func TestEvidenceThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	shop := &counter{}
	f := parse(t, "", serve(t, shop)+resetByRequest+memory)
	_, err := judge.Run(t.Context(), judge.Config{File: f, Out: full})
	if err == nil || !strings.Contains(err.Error(), "is not empty") || shop.ids != nil {
		t.Errorf("into a folder with a file: %v, and the shop has %v", err, shop.ids)
	}
	_, err = judge.Again(t.Context(), full)
	if err == nil || !strings.Contains(err.Error(), "has no evidence of the judge") {
		t.Errorf("again, of another folder: %v", err)
	}
	dir, _ := kept(t, memory)
	if err := os.WriteFile(filepath.Join(dir, "alone.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := judge.Again(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "alone.json") {
		t.Errorf("again, of a file that is cut off: %v", err)
	}
}
